package host

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// withModules is a modprobe that knows modules, and brings what the kernel has with
// each into root.
func withModules(t *testing.T, root string, known map[string][]string, called *[]string) func(args ...string) error {
	return func(args ...string) error {
		*called = append(*called, strings.Join(args, " "))
		files, ok := known[args[len(args)-1]]
		if !ok {
			return errors.New("modprobe: FATAL: Module not found")
		}
		for _, file := range files {
			path := filepath.Join(root, file)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("1\n"), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		return nil
	}
}

func TestModulesAreLoadedAndUnloaded(t *testing.T) {
	root, called := t.TempDir(), []string{}
	modprobe := withModules(t, root, map[string][]string{
		"loop":         {"dev/loop-control"},
		"br_netfilter": {"proc/sys/net/bridge/bridge-nf-call-iptables", "proc/sys/net/bridge/bridge-nf-call-ip6tables"},
	}, &called)
	record := Record(filepath.Join(t.TempDir(), "modules.json"))
	for range 2 { // the second is that of a resumed `up`
		if err := loadModules(record, root, modprobe); err != nil {
			t.Fatal(err)
		}
	}
	for _, setting := range modules[1].off[:2] {
		if got, _ := os.ReadFile(filepath.Join(root, "proc/sys", setting)); string(got) != "0" {
			t.Errorf("%s is %q: this machine's other bridges are filtered now", setting, got)
		}
	}
	for range 2 {
		if err := unloadModules(record, modprobe); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"loop", "br_netfilter", "--remove loop"}, called); diff != "" {
		t.Errorf("modprobe was called with (-want +got):\n%s", diff)
	}
}

// TestModulesThatAreThereStay has what a kernel with Docker has.
func TestModulesThatAreThereStay(t *testing.T) {
	root, called := t.TempDir(), []string{}
	modprobe := withModules(t, root, map[string][]string{"": {"dev/loop-control", "proc/sys/net/bridge/bridge-nf-call-iptables"}}, &called)
	if err := modprobe(""); err != nil {
		t.Fatal(err)
	}
	record := Record(filepath.Join(t.TempDir(), "modules.json"))
	if err := errors.Join(loadModules(record, root, modprobe), unloadModules(record, modprobe)); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(filepath.Join(root, "proc/sys/net/bridge/bridge-nf-call-iptables")); string(got) != "1\n" || len(called) != 1 {
		t.Errorf("the setting is %q, and modprobe was called %q", got, called[1:])
	}
}

func TestMissingModulesSayWhatToDo(t *testing.T) {
	called := []string{}
	record := Record(filepath.Join(t.TempDir(), "modules.json"))
	err := loadModules(record, t.TempDir(), withModules(t, t.TempDir(), nil, &called))
	want := "this kernel has no loop, and nodes mount images with it (modprobe: FATAL: Module not found): install the modules of the kernel that runs, or reboot into the one that has them"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %q", err, want)
	}
}
