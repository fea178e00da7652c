package sysupdate

import (
	"bytes"
	"cmp"
	"strconv"
	"strings"

	"github.com/coreos/go-systemd/v22/unit"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// Conf has the settings of a transfer definition (sysupdate.d(5)) that are kept. It has
// no field for CurrentSymlink=, because no conf that is written has this setting.
type Conf struct {
	// Line is the minor it offers, such as v1.34.
	Line string
	// Source is the folder that images come from, the value of Path=.
	Source string
	// Target is the folder that images are put into. Empty: host.ImagesDir.
	Target string
	// Verify requires a signed index.
	Verify bool
	// InstancesMax is how many images of the minor may be on the disk.
	InstancesMax int
}

// patchOf returns what follows the minor in a version, such as 4 or 0-rc.1. This is
// what @v matches: systemd-sysupdate takes it for the version.
func patchOf(v version.Version) string { return strings.TrimPrefix(v.String(), v.Line()+".") }

// written begins each definition that Render returns.
const written = "# Written by kubectl-upgrade"

const header = written + `, which stages and activates Kubernetes images on
# this node. Whoever else runs systemd-sysupdate may download newer patches
# with this file, and cannot activate one (there is no CurrentSymlink=). The
# images that are needed are kept in ` + host.KeptDir + `.
`

// Render returns the conf's text.
func (c Conf) Render() string {
	var options []*unit.UnitOption
	set := func(section, name, value string) {
		options = append(options, unit.NewUnitOption(section, name, value))
	}
	set("Transfer", "Verify", strconv.FormatBool(c.Verify))
	pattern := "kubernetes-" + c.Line + ".@v-%a.raw"
	set("Source", "Type", "url-file")
	set("Source", "Path", c.Source)
	set("Source", "MatchPattern", pattern)
	if c.InstancesMax > 0 {
		set("Target", "InstancesMax", strconv.Itoa(c.InstancesMax))
	}
	set("Target", "Type", "regular-file")
	set("Target", "Path", cmp.Or(c.Target, host.ImagesDir))
	set("Target", "MatchPattern", pattern)
	text := bytes.NewBufferString(header)
	_, _ = text.ReadFrom(unit.Serialize(options)) // from memory, which does not fail
	return text.String()
}
