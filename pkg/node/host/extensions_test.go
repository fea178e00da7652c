//go:build !integration

package host_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// TestOtherExtensions checks which extensions are merged, and which have a file and are not: a link whose image is gone is
// one, and one that a person has masked is none.
func TestOtherExtensions(t *testing.T) {
	l := newTree(t)
	for _, name := range []string{"kubernetes", "docker"} {
		write(t, l, "/usr/lib/extension-release.d/extension-release."+name, "ID=_any\n")
	}
	write(t, l, "/etc/extensions/docker.raw", "image")
	write(t, l, "/var/lib/extensions/masked.raw", "image")
	write(t, l, "/var/lib/extensions/folder/usr/x", "file")
	write(t, l, "/var/lib/extensions/versioned.raw.v/versioned_1.raw", "image")
	for name, target := range map[string]string{"masked.raw": os.DevNull, "zfs.raw": "/opt/extensions/zfs/gone.raw"} {
		if err := os.Symlink(target, l.At("/etc/extensions", name)); err != nil {
			t.Fatal(err)
		}
	}
	facts, err := host.Gather(l)
	if err != nil {
		t.Fatal(err)
	}
	got := [][]string{facts.Extensions, facts.Unmerged}
	if diff := cmp.Diff([][]string{{"docker"}, {"folder", "versioned", "zfs"}}, got); diff != "" {
		t.Error(diff)
	}
}
