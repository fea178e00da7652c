//go:build !integration

package host_test

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

func TestSaveKubeletFiles(t *testing.T) {
	l := newTree(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	save := func(from, want string) {
		t.Helper()
		saved, err := l.SaveKubeletFiles(from)
		must(err)
		dir := host.Root + "/state/saved/"
		if diff := cmp.Diff(map[string]string{host.KubeletConfig: dir + "config.yaml", host.KubeletFlags: dir + "kubeadm-flags.env"}, saved); diff != "" {
			t.Error(diff)
		}
		if got := read(t, l, saved[host.KubeletConfig]); got != want {
			t.Errorf("saved %q, want %q", got, want)
		}
	}
	write(t, l, host.KubeletFlags, "flags")
	write(t, l, host.KubeletConfig, "of a month ago")
	save("v1.34.3", "of a month ago")
	write(t, l, host.KubeletConfig, "before")
	save("v1.34.3", "before") // kubeadm has not run since: a person changed it
	must(l.NoteKubeadm(false))
	write(t, l, host.KubeletConfig, "half")
	save("v1.34.3", "before") // kubeadm was killed
	must(l.NoteKubeadm(false))
	write(t, l, host.KubeletConfig, "kubeadm's")
	must(l.NoteKubeadm(true))
	save("v1.34.3", "before") // a second attempt, or another upgrade from the same version
	write(t, l, host.KubeletConfig, "a person's")
	save("v1.34.3", "a person's")
	write(t, l, host.KubeletConfig, "of another version")
	save("v1.34.4", "of another version")
	must(l.NoteKubeadm(true))
	must(l.KeepKubeletFiles())
	save("v1.34.4", "of another version")
	if left, _ := filepath.Glob(l.At(host.Root, "state/saved*")); len(left) != 1 {
		t.Errorf("old copies are left: %v", left)
	}
}

// TestFormerKubeletFiles checks that the files of a former version are kept as long as its image is, and
// that they come back.
func TestFormerKubeletFiles(t *testing.T) {
	l := newTree(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	upgrade := func(from, config string) {
		t.Helper()
		write(t, l, host.KubeletConfig, config)
		_, err := l.SaveKubeletFiles(from)
		must(err)
		must(l.KeepKubeletFiles())
	}
	former := func() (versions []string) {
		entries, err := filepath.Glob(l.At(host.Root, "state/former/*"))
		must(err)
		for _, e := range entries {
			versions = append(versions, filepath.Base(e))
		}
		return versions
	}
	upgrade("v1.34.2", "of an image that is gone")
	upgrade("v1.34.3", "of v1.34.3")
	upgrade("v1.34.10", "of v1.34.10")
	if diff := cmp.Diff([]string{"v1.34.10", "v1.34.3"}, former()); diff != "" {
		t.Error(diff)
	}
	must(l.SetKubeadmDone(verb.KubeadmDone{Version: "v1.34.10"}))
	must(l.RestoreKubeletFiles("v1.34.2"))
	if done, err := l.KubeadmDone(); err != nil || done == nil || read(t, l, host.KubeletConfig) != "of v1.34.10" {
		t.Errorf("files that were not kept came back: %v %v", done, err)
	}
	must(os.Chmod(l.At(host.KubeletConfig), 0o600))
	must(l.RestoreKubeletFiles("v1.34.3"))
	done, err := l.KubeadmDone()
	if err != nil || done != nil || read(t, l, host.KubeletConfig) != "of v1.34.3" {
		t.Errorf("kubeadm's record %v (%v), config %q; want none, and that of v1.34.3", done, err, read(t, l, host.KubeletConfig))
	}
	if info, err := os.Stat(l.At(host.KubeletConfig)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the mode of the file has changed: %v %v", info.Mode(), err)
	}
	must(l.KeepKubeletFiles()) // nothing was saved
	must(os.Remove(l.At(host.ImagePath("v1.34.3", host.Architecture()))))
	must(l.KeepKubeletFiles())
	if diff := cmp.Diff([]string{"v1.34.10"}, former()); diff != "" {
		t.Error(diff)
	}
}

func TestSaveNothing(t *testing.T) {
	saved, err := newTree(t).SaveKubeletFiles("v1.34.3")
	if len(saved) > 0 || err != nil {
		t.Errorf("%v %v", saved, err)
	}
}

func TestInstall(t *testing.T) {
	root := t.TempDir()
	program := host.Program(root)
	if err := host.Install("/proc/self/exe", root); err != nil {
		t.Fatal(err)
	}
	first, err := os.Stat(program)
	if err != nil || first.Mode().Perm() != 0o755 {
		t.Fatalf("%v %v", first, err)
	}
	if err := host.Install("/proc/self/exe", root); err != nil {
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
	if err := host.Install("/proc/self/exe", root); err != nil {
		t.Fatal(err)
	}
	if third, err := os.Stat(program); err != nil || third.Size() != first.Size() {
		t.Errorf("not replaced: %v", err)
	}
	if _, err := os.Stat(partial); err == nil {
		t.Error("an interrupted copy is left")
	}
}

// TestInstallReplacesDamaged installs over programs that differ from the running one in a few
// bytes only.
func TestInstallReplacesDamaged(t *testing.T) {
	root := t.TempDir()
	program := host.Program(root)
	if err := host.Install("/proc/self/exe", root); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	changed := bytes.Clone(good)
	changed[len(changed)-1]++
	for name, damaged := range map[string][]byte{
		"cut off":           good[:len(good)-1],
		"cut off at 64 KiB": good[:64<<10],
		"longer":            append(bytes.Clone(good), 0),
		"another byte":      changed,
		"empty":             nil,
	} {
		if err := os.WriteFile(program, damaged, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := host.Install("/proc/self/exe", root); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(program); err != nil || !bytes.Equal(got, good) {
			t.Errorf("%s: the program was not replaced: %d bytes, %v", name, len(got), err)
		}
	}
}

// TestInstallNeedsLittleMemory checks that an agent that starts does not read its program,
// or the installed one, into memory.
func TestInstallNeedsLittleMemory(t *testing.T) {
	root := t.TempDir()
	for _, what := range []string{"the first copy", "a comparison"} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := host.Install("/proc/self/exe", root); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
			t.Errorf("%s allocated %d KiB, want at most 1 MiB", what, got>>10)
		}
	}
}
