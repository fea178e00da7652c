//go:build integration

package sysupdate_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/sysupdate"
)

// TestReplacedMountIsRefused checks that no program of a mounted image runs if its file was
// replaced after the mount by one with the right hash.
func TestReplacedMountIsRefused(t *testing.T) {
	dir := t.TempDir()
	path, mount := filepath.Join(dir, imageName("v1.34.4")), filepath.Join(dir, "mount")
	mounted := func(content string) {
		t.Helper()
		write(t, path, content)
		for _, args := range [][]string{{"mkdir", "-p", mount}, {"mount", "-o", "loop,ro", path, mount}} {
			if out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
		t.Cleanup(func() { _ = exec.CommandContext(context.Background(), "umount", mount).Run() })
	}
	good := imageOf(t, "v1.34.4")
	wanted, err := host.NewImage("v1.34.4", host.Architecture())
	if err != nil {
		t.Fatal(err)
	}
	verify := func() error {
		return sysupdate.VerifyMounted(t.Context(), path, mount, wanted, hashOf(good))
	}

	mounted(string(good))
	if err := verify(); err != nil {
		t.Errorf("the right one: %v", err)
	}
	if out, err := exec.CommandContext(t.Context(), "umount", mount).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}

	mounted(string(imageOf(t, "evil")))
	write(t, path+".new", string(good))
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	wantReason(t, verify(), v1alpha1.ReasonHashMismatch)
	if _, err := os.Stat(evilRan); err == nil {
		t.Error("a program of an image with another hash was run")
	}
	// Nor is a folder an image.
	if err := exec.CommandContext(t.Context(), "umount", mount).Run(); err != nil {
		t.Fatal(err)
	}
	wantReason(t, verify(), v1alpha1.ReasonHashMismatch)
}
