//go:build !integration

package host_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
)

func TestSaveKubeletFiles(t *testing.T) {
	l := newTree(t)
	write(t, l, host.KubeletConfig, "before")
	write(t, l, host.KubeletFlags, "flags")
	save := func(version string) map[string]string {
		t.Helper()
		saved, err := l.SaveKubeletFiles(version)
		if err != nil {
			t.Fatal(err)
		}
		return saved
	}
	saved := save("v1.34.4")
	dir := host.Root + "/state/saved/v1.34.4/"
	want := map[string]string{host.KubeletConfig: dir + "config.yaml", host.KubeletFlags: dir + "kubeadm-flags.env"}
	if diff := cmp.Diff(want, saved); diff != "" {
		t.Error(diff)
	}
	// kubeadm has rewritten it: a second attempt keeps what was there first.
	write(t, l, host.KubeletConfig, "after")
	if got := read(t, l, save("v1.34.4")[host.KubeletConfig]); got != "before" {
		t.Errorf("saved %q", got)
	}
	if got := read(t, l, save("v1.35.4")[host.KubeletConfig]); got != "after" {
		t.Errorf("saved %q", got)
	}
	if left, _ := filepath.Glob(l.At(host.Root, "state/saved/*")); len(left) != 1 {
		t.Errorf("old copies are left: %v", left)
	}
}

func TestSaveNothing(t *testing.T) {
	saved, err := newTree(t).SaveKubeletFiles("v1.34.4")
	if len(saved) > 0 || err != nil {
		t.Errorf("%v %v", saved, err)
	}
}

func TestInstall(t *testing.T) {
	root := t.TempDir()
	program := host.Program(root)
	if err := host.Install(root); err != nil {
		t.Fatal(err)
	}
	first, err := os.Stat(program)
	if err != nil || first.Mode().Perm() != 0o755 {
		t.Fatalf("%v %v", first, err)
	}
	if err := host.Install(root); err != nil {
		t.Fatal(err)
	}
	if second, err := os.Stat(program); err != nil || !os.SameFile(first, second) {
		t.Error("the same program was installed twice")
	}
	partial := filepath.Join(filepath.Dir(program), ".node-agent123")
	for _, path := range []string{program, partial} {
		if err := os.WriteFile(path, []byte("an older one"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := host.Install(root); err != nil {
		t.Fatal(err)
	}
	if third, err := os.Stat(program); err != nil || third.Size() != first.Size() {
		t.Errorf("not replaced: %v", err)
	}
	if _, err := os.Stat(partial); err == nil {
		t.Error("an interrupted copy is left")
	}
}
