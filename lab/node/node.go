// Package node is one machine of the lab: a systemd-nspawn container that
// behaves like a Flatcar node in all that matters for an upgrade. It boots
// systemd, gets containerd and Kubernetes from sysext images only, reboots
// through its own logind, and has a new boot id and empty /run after each boot.
//
// What a machine writes lies in its folder; the root file system below is
// never written. A machine's mounts live in a namespace of its own, so that
// they end with it however it ends, and its control groups lie below one that
// the lab made: the machine that the lab runs on keeps its own as they are.
package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/google/renameio/v2"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/network"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/process"
)

// Spec is what a machine is made of.
type Spec struct {
	network.Endpoint
	// Peers are all nodes of the lab, this one among them.
	Peers []network.Endpoint
	// Rootfs is the folder of the root file system.
	Rootfs string
	// Base is the Debian in it, "trixie".
	Base string
	// Containerd and Kubernetes are the paths of the sysext images.
	Containerd, Kubernetes string
	// Version is that of the Kubernetes image, without v: "1.34.3".
	Version string
	// Pause is the reference of the sandbox image.
	Pause string
	// ImageServer and Registry are URLs without a slash at the end.
	ImageServer, Registry string
	// AutoUpdate turns on the timer that fetches new Kubernetes images by
	// itself, as Flatcar's guides have it.
	AutoUpdate bool
	// Ignition is the path of an Ignition configuration that brings the image of Kubernetes and
	// all that keeps it up to date, to a node that is otherwise as Flatcar ships it. Empty: the
	// lab writes what Flatcar's guides have.
	Ignition string
	// UpdateEngine is the path of the program that plays Flatcar's. Empty: there
	// is none, as on nodes where it is masked.
	UpdateEngine string
	// Files are written into the machine as well: text by absolute path.
	Files map[string]string
}

// Machine is a node's folder and what is in it.
type Machine struct {
	Dir  string
	Spec Spec
}

// Open reads a machine that Create made, or returns os.ErrNotExist.
func Open(dir string) (*Machine, error) {
	data, err := os.ReadFile(filepath.Join(dir, "spec.json"))
	if err != nil {
		return nil, fmt.Errorf("opening node %s: %w", filepath.Base(dir), err)
	}
	m := &Machine{Dir: dir}
	if err := json.Unmarshal(data, &m.Spec); err != nil {
		return nil, fmt.Errorf("opening node %s: %w", filepath.Base(dir), err)
	}
	return m, nil
}

// Create makes a machine with empty disks that is off. It removes what is in dir;
// no machine may run from there.
func Create(dir string, spec Spec) (*Machine, error) {
	m := &Machine{Dir: dir, Spec: spec}
	if err := m.create(); err != nil {
		return nil, fmt.Errorf("creating node %s: %w", spec.Name, err)
	}
	return m, nil
}

func (m *Machine) create() error {
	if err := os.RemoveAll(m.Dir); err != nil {
		return err
	}
	for _, dir := range []string{m.upper(), m.work(), m.etc(), m.etcWork(), m.root(), m.containerd(), m.Journal()} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	files, err := m.Spec.files()
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := file.write(m.disk(file.path)); err != nil {
			return err
		}
	}
	data, err := json.MarshalIndent(m.Spec, "", "  ")
	if err != nil {
		return err
	}
	return renameio.WriteFile(filepath.Join(m.Dir, "spec.json"), data, 0o644)
}

// The folders of a machine. containerd's is a plain folder, because its
// snapshots are overlays and an overlay cannot lie over another; the journal's
// is one so that it can be read while the machine is off. What a machine changes
// in /etc is in a folder of its own, because /etc is an overlay as on Flatcar.
func (m *Machine) upper() string      { return filepath.Join(m.Dir, "upper") }
func (m *Machine) work() string       { return filepath.Join(m.Dir, "work") }
func (m *Machine) etc() string        { return filepath.Join(m.Dir, "etc") }
func (m *Machine) etcWork() string    { return filepath.Join(m.Dir, "etc-work") }
func (m *Machine) root() string       { return filepath.Join(m.Dir, "root") }
func (m *Machine) containerd() string { return filepath.Join(m.Dir, "containerd") }

// disk returns where a path of the machine is written while the machine is off.
func (m *Machine) disk(path string) string {
	if below, found := strings.CutPrefix(path, "/etc/"); found {
		return filepath.Join(m.etc(), below)
	}
	return filepath.Join(m.upper(), path)
}

// Journal is the folder of the machine's journal, for journalctl -D.
func (m *Machine) Journal() string { return filepath.Join(m.Dir, "journal") }

// Console is the file of what the machine prints, over all its boots.
func (m *Machine) Console() string { return filepath.Join(m.Dir, "console") }

// The records of a machine's processes, and the mark that its cable is out.
func (m *Machine) supervisorRecord() string { return filepath.Join(m.Dir, "supervisor.json") }
func (m *Machine) nspawnRecord() string     { return filepath.Join(m.Dir, "nspawn.json") }
func (m *Machine) leaderRecord() string     { return filepath.Join(m.Dir, "leader.json") }
func (m *Machine) partitionMark() string    { return filepath.Join(m.Dir, "partitioned") }

// Leader is the machine's first process, as this machine sees it. running is
// false while the node is off or between two boots.
func (m *Machine) Leader() (id process.ID, running bool, err error) {
	return process.Load(m.leaderRecord())
}

// On reports whether the machine is powered, which it is also while it reboots.
func (m *Machine) On() (bool, error) {
	_, on, err := process.Load(m.supervisorRecord())
	return on, err
}

// Partitioned reports whether the machine is cut off from the others.
func (m *Machine) Partitioned() bool {
	_, err := os.Stat(m.partitionMark())
	return err == nil
}

// ErrOff means that the node is off.
var ErrOff = errors.New("the node is off")

// BootID is the machine's boot id, new with each boot.
func (m *Machine) BootID() (string, error) {
	leader, running, err := m.Leader()
	if err != nil {
		return "", err
	}
	if !running {
		return "", fmt.Errorf("node %s: %w", m.Spec.Name, ErrOff)
	}
	id, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(leader.PID), "root/proc/sys/kernel/random/boot_id"))
	if err != nil {
		return "", fmt.Errorf("reading the boot id of node %s: %w", m.Spec.Name, err)
	}
	return string(trimNewline(id)), nil
}

func trimNewline(b []byte) []byte {
	if n := len(b); n > 0 && b[n-1] == '\n' {
		return b[:n-1]
	}
	return b
}

// gateway is the way to all that is not on the bridge.
var gateway = netip.MustParseAddr(network.Host)
