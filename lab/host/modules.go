package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// module is a part of the kernel that nodes need, and that nothing loads by itself
// when they use it.
type module struct {
	name string
	// file can be opened when the module is there, also if it is no module of this
	// kernel but a part of it.
	file string
	// use says what nodes do with it.
	use string
	// off are settings of the kernel that keep the module from changing what this
	// machine does. Nodes have their own.
	off []string
	// stays reports whether the module is never removed, because the kernel does not
	// count its users.
	stays bool
}

var modules = []module{
	{
		name: "loop", file: "dev/loop-control",
		use: "mount images with it",
	},
	{
		name: "br_netfilter", file: "proc/sys/net/bridge/bridge-nf-call-iptables",
		use: "send packets between pods through it",
		off: []string{"net/bridge/bridge-nf-call-iptables", "net/bridge/bridge-nf-call-ip6tables", "net/bridge/bridge-nf-call-arptables"},
		// It has no effect, as its settings are off.
		stays: true,
	},
}

// LoadModules loads what this machine's kernel does not have yet. What UnloadModules
// has to undo is recorded first.
func LoadModules(ctx context.Context, record Record) error {
	return loadModules(record, "/", func(args ...string) error { return modprobe(ctx, args...) })
}

// UnloadModules removes the modules that LoadModules has loaded. One that is in use by
// now stays.
func UnloadModules(ctx context.Context, record Record) error {
	return unloadModules(record, func(args ...string) error { return modprobe(ctx, args...) })
}

func modprobe(ctx context.Context, args ...string) error {
	out, err := exec.CommandContext(ctx, "modprobe", args...).CombinedOutput()
	if text := strings.TrimSpace(string(out)); err != nil && text != "" {
		first, _, _ := strings.Cut(text, "\n")
		return errors.New(first)
	}
	return err
}

func loadModules(record Record, root string, modprobe func(args ...string) error) error {
	for _, m := range modules {
		if m.present(root) {
			continue
		}
		if err := m.load(record, root, modprobe); err != nil {
			return fmt.Errorf("this kernel has no %s, and nodes %s (%w): install the modules of the kernel that runs, or reboot into the one that has them", m.name, m.use, err)
		}
	}
	return nil
}

func (m module) present(root string) bool {
	f, err := os.Open(filepath.Join(root, m.file))
	if err != nil {
		return false
	}
	f.Close()
	return true
}

func (m module) load(record Record, root string, modprobe func(args ...string) error) error {
	if !m.stays {
		if err := record.Add(m.name); err != nil {
			return err
		}
	}
	if err := modprobe(m.name); err != nil {
		return err
	}
	if !m.present(root) {
		return fmt.Errorf("modprobe succeeded, and there is no /%s", m.file)
	}
	values := map[string]string{}
	for _, name := range m.off {
		values[name] = "0"
	}
	return apply(filepath.Join(root, "proc/sys"), values)
}

func unloadModules(record Record, modprobe func(args ...string) error) error {
	names, err := record.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		_ = modprobe("--remove", name)
	}
	return record.Remove()
}
