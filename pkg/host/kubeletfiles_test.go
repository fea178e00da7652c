//go:build !integration

package host_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
)

func TestSaveKubeletFiles(t *testing.T) {
	const started = "/etc/kubernetes-version" // the bakery's unit writes it when the kubelet starts
	l := newTree(t)
	now := time.Now()
	change := func(path, text string, ago time.Duration) {
		t.Helper()
		write(t, l, path, text)
		if err := os.Chtimes(l.At(path), now.Add(-ago), now.Add(-ago)); err != nil {
			t.Fatal(err)
		}
	}
	save := func(want string) {
		t.Helper()
		saved, err := l.SaveKubeletFiles()
		if err != nil {
			t.Fatal(err)
		}
		dir := host.Root + "/state/saved/"
		if diff := cmp.Diff(map[string]string{host.KubeletConfig: dir + "config.yaml", host.KubeletFlags: dir + "kubeadm-flags.env"}, saved); diff != "" {
			t.Error(diff)
		}
		if got := read(t, l, saved[host.KubeletConfig]); got != want {
			t.Errorf("saved %q, want %q", got, want)
		}
	}
	change(host.KubeletFlags, "flags", 9*time.Hour)
	change(host.KubeletConfig, "before", 9*time.Hour)
	save("before") // it is not known when the kubelet started
	change(started, "v1.34.3", 8*time.Hour)
	change(host.KubeletConfig, "kubeadm's", 7*time.Hour)
	save("before") // a second attempt, after kubeadm
	change(started, "v1.34.3", 10*time.Second)
	save("before") // the kubelet may crash with these files
	change(started, "v1.34.3", 2*time.Minute)
	save("kubeadm's") // the kubelet works with these files
	change(host.KubeletConfig, "a person's", time.Minute)
	save("kubeadm's") // the kubelet has not read them
}

func TestSaveNothing(t *testing.T) {
	saved, err := newTree(t).SaveKubeletFiles()
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
