package facts

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	systemdunit "github.com/coreos/go-systemd/v22/unit"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// UnitFile is a service as its files describe it. systemd itself may have read other ones, as before a merge.
type UnitFile struct {
	// Path of the unit's own file; empty: there is none. Masked reports whether it is a link to /dev/null.
	Path   string
	Masked bool
	// Command is the last ExecStart=, in words, without the characters before its program.
	Command []string
	// Started reports whether another unit starts it.
	Started bool
}

// ReadUnitFile reads the files of a service.
func ReadUnitFile(l host.Layout, name string) UnitFile {
	g := newGatherer(l, nil)
	u := g.unit(name)
	file := UnitFile{Path: u.fragment, Masked: u.masked, Started: g.wanted(name) || g.pulledIn(name)}
	for _, path := range append([]string{u.fragment}, u.dropIns...) {
		for _, option := range g.options(path) {
			if option.Section == "Service" && option.Name == "ExecStart" {
				line := strings.ReplaceAll(option.Value, "\\\n", " ") // the library keeps the ends of continued lines
				file.Command = words(strings.TrimLeft(line, "@-:+!|"))
			}
		}
	}
	return file
}

// options returns the assignments in a unit's file. One that systemd cannot read has none.
func (g *gatherer) options(path string) []*systemdunit.UnitOption {
	if path == "" || g.isNull(path) {
		return nil
	}
	data, err := g.read(path)
	if err != nil {
		return nil
	}
	options, err := systemdunit.DeserializeOptions(strings.NewReader(string(data)))
	if err != nil {
		return nil
	}
	return options
}

// pulledIn reports whether a drop-in of a target names the unit, as the bakery's images do to start kubelet.service.
func (g *gatherer) pulledIn(name string) bool {
	for _, dir := range unitDirs {
		paths, _ := filepath.Glob(g.At(dir, "*.target.d", "*.conf"))
		for _, path := range paths {
			below, err := filepath.Rel(g.Dir, path)
			if err != nil {
				continue
			}
			for _, option := range g.options(string(os.PathSeparator) + below) {
				pulls := slices.Contains([]string{"Upholds", "Wants", "Requires"}, option.Name)
				if pulls && slices.Contains(strings.Fields(option.Value), name) {
					return true
				}
			}
		}
	}
	return false
}
