package virtual

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestTheDiskHasWhatTheMachineRuns(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to keep the owners of files")
	}
	rootfs, folder := t.TempDir(), filepath.Join(t.TempDir(), "files")
	for _, dir := range []string{"etc/systemd/system", "opt", "usr/lib/modules"} {
		if err := os.MkdirAll(filepath.Join(rootfs, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("program"), 0o755); err != nil {
		t.Fatal(err)
	}
	disk := Disk{Rootfs: rootfs, Copies: map[string]string{"/srv/bin/copy": program}, Script: "true\n"}
	if err := disk.fill(t.Context(), folder); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"srv/bin/copy": "program", "opt/script": "true\n"} {
		if got, err := os.ReadFile(filepath.Join(folder, path)); err != nil || string(got) != want {
			t.Errorf("%s has %q, %v; want %q", path, got, err, want)
		}
	}
	if got, err := os.Readlink(filepath.Join(folder, "etc/systemd/system/multi-user.target.wants/script.service")); err != nil || got != "/etc/systemd/system/script.service" {
		t.Errorf("the script's unit: %q, %v", got, err)
	}
	if left, err := os.ReadDir(filepath.Join(rootfs, "opt")); err != nil || len(left) > 0 {
		t.Errorf("the root file system itself got %v, %v", left, err)
	}
}

func TestMachinesHaveOnlyVersion2(t *testing.T) {
	m := Machine{Disk: "/tmp/disk", Memory: "6G", Share: "/out"}
	for _, want := range []string{"systemd.unified_cgroup_hierarchy=1", "ubd0=/opt/disk", "mem=6G"} {
		if !slices.Contains(m.args(), want) {
			t.Errorf("got %v, want %s among them", m.args(), want)
		}
	}
	if got := m.Mount("/out"); !strings.Contains(got, "/mnt") || !strings.HasSuffix(got, " /out") {
		t.Errorf("got %q", got)
	}
}

func TestTheConsoleShowsWhatTheMachinePrints(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to mount")
	}
	kernel := filepath.Join(t.TempDir(), "kernel")
	if err := os.WriteFile(kernel, []byte("#!/bin/sh\necho \"$1 $TMPDIR $SLOWNESS\"\nexit $(($# > 20))\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	var console strings.Builder
	m := Machine{Rootfs: "/", Kernel: kernel, Clock: filepath.Join(t.TempDir(), "clock.so"), Slowness: 7,
		Disk: filepath.Join(t.TempDir(), "disk"), Share: t.TempDir(), Console: &console}
	// The loader complains that there is no clock.so.
	if err := m.Run(t.Context()); err != nil || !strings.HasSuffix(console.String(), "ubd0=/opt/disk /dev/shm 7\n") {
		t.Errorf("got %q, %v", console.String(), err)
	}
}
