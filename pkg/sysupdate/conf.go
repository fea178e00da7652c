package sysupdate

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/coreos/go-systemd/v22/unit"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// Conf is what matters of a transfer definition (sysupdate.d(5)). There is no
// field for CurrentSymlink=: no conf that we write has one.
type Conf struct {
	// Line is the minor it offers, such as v1.34.
	Line string
	// Source is the folder that images come from, as Path= has it.
	Source string
	// Verify asks for a signed index.
	Verify bool
	// InstancesMax is how many images of the line may lie on the disk.
	InstancesMax int
	// Protect are the patches that vacuuming leaves alone, as patchOf names them.
	Protect []string
}

// minInstances leaves room for the running image, the one before and the next.
// One more than are protected is always allowed: systemd-sysupdate fails when
// it may remove none.
const minInstances = 3

// patchOf is what follows the minor in a version, such as 4 or 0-rc.1. To
// systemd-sysupdate it is the version: it is what @v stands for.
func patchOf(v version.Version) string { return strings.TrimPrefix(v.String(), v.Line()+".") }

const header = `# Written by kubectl-upgrade, which stages and activates Kubernetes images on
# this node. Whoever else runs systemd-sysupdate may download newer patches
# with this file, and can neither activate one (there is no CurrentSymlink=)
# nor remove one that is needed (ProtectVersion=).
`

// Render returns the conf's text.
func (c Conf) Render() string {
	var options []*unit.UnitOption
	set := func(section, name, value string) {
		options = append(options, unit.NewUnitOption(section, name, value))
	}
	protect := slices.Compact(slices.Sorted(slices.Values(c.Protect)))
	for _, patch := range protect {
		set("Transfer", "ProtectVersion", patch)
	}
	set("Transfer", "Verify", strconv.FormatBool(c.Verify))
	pattern := "kubernetes-" + c.Line + ".@v-%a.raw"
	set("Source", "Type", "url-file")
	set("Source", "Path", c.Source)
	set("Source", "MatchPattern", pattern)
	set("Target", "InstancesMax", strconv.Itoa(max(c.InstancesMax, minInstances, len(protect)+1)))
	set("Target", "Type", "regular-file")
	set("Target", "Path", host.ImagesDir)
	set("Target", "MatchPattern", pattern)
	text := bytes.NewBufferString(header)
	_, _ = text.ReadFrom(unit.Serialize(options)) // from memory, which does not fail
	return text.String()
}
