package artifacts

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Base is the Debian that nodes run, by the name of its release. Empty: DefaultBase.
type Base string

// DefaultBase has a systemd-sysupdate, and the systemd of Flatcar stable.
const DefaultBase Base = "trixie"

// baseFacts is what matters of a Debian, for nodes.
type baseFacts struct {
	// suites is what apt takes packages from, the more important first.
	suites []string
	// systemd is its version at the time of writing: sid's changes.
	systemd string
	// containerd is the major version of Debian's own.
	containerd int
	// unified: its systemd does not boot on version 1 control groups.
	unified bool
}

var bases = map[Base]baseFacts{
	"bookworm":           {suites: []string{"bookworm"}, systemd: "252, without systemd-sysupdate", containerd: 1},
	"bookworm-backports": {suites: []string{"bookworm-backports", "bookworm"}, systemd: "254", containerd: 1},
	"trixie":             {suites: []string{"trixie"}, systemd: "257", containerd: 1},
	"sid":                {suites: []string{"sid"}, systemd: "262 or later", containerd: 2, unified: true},
}

// Bases are the names of all bases.
func Bases() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(bases)) {
		names = append(names, string(name))
	}
	return names
}

// BaseHelp is one sentence about the bases and their versions of systemd.
func BaseHelp() string {
	var all []string
	for _, name := range Bases() {
		all = append(all, fmt.Sprintf("%s (systemd %s)", name, bases[Base(name)].systemd))
	}
	return "the Debian of the nodes: " + strings.Join(all, ", ")
}

// Validate returns an error that names the bases if this is not one of them.
func (b Base) Validate() error {
	if _, known := bases[b.orDefault()]; !known {
		return fmt.Errorf("%q is not a base of nodes: use one of %s", string(b), strings.Join(Bases(), ", "))
	}
	return nil
}

// NeedsVersion2 reports whether its systemd boots on version 2 control groups only.
func (b Base) NeedsVersion2() bool { return bases[b.orDefault()].unified }

func (b Base) String() string { return string(b.orDefault()) }

func (b Base) orDefault() Base {
	if b == "" {
		return DefaultBase
	}
	return b
}

// Systemd returns the version of systemd in a root file system of Debian, "257.9-1".
func Systemd(rootfs string) (string, error) {
	f, err := os.Open(filepath.Join(rootfs, "var/lib/dpkg/status"))
	if err != nil {
		return "", fmt.Errorf("reading the version of systemd: %w", err)
	}
	defer f.Close()
	found := false
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		key, value, _ := strings.Cut(lines.Text(), ": ")
		switch {
		case key == "Package":
			found = value == "systemd"
		case key == "Version" && found:
			return value, nil
		}
	}
	if err := lines.Err(); err != nil {
		return "", fmt.Errorf("reading the version of systemd: %w", err)
	}
	return "", fmt.Errorf("%s has no package systemd", rootfs)
}
