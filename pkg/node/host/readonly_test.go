package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestReadOnlyExtensions checks that an error of a read-only file system names the extension that causes it.
func TestReadOnlyExtensions(t *testing.T) {
	const root = "30 1 254:0 / / rw - ext4 /dev/vda rw\n"
	const overlay = "566 30 0:80 / /opt ro,nodev,relatime shared:249 - overlay sysext "
	const lower = "lowerdir=/run/systemd/sysext/meta/opt:/run/systemd/sysext/extensions/kata/opt:/run/systemd/sysext/extensions/gvisor/opt:/opt,redirect_dir=on"
	const advice = "; remove it from /etc/extensions, or its files in /opt"
	for name, test := range map[string]struct {
		mounts, want string
	}{
		"no extension in /opt": {root, "read-only file system"},
		"two in /opt": {root + overlay + "ro," + lower + "\n",
			"read-only file system: systemd-sysext makes all of /opt read-only for an extension with files there (gvisor, kata)" + advice},
		"a mutable one": {root + overlay + "rw," + lower + ",upperdir=/var/lib/extensions.mutable/opt\n", "read-only file system"},
		"a file system of its own": {root + overlay + "ro," + lower + "\n" + "600 566 254:3 / /opt/kubectl-upgrade rw - ext4 /dev/vdb rw\n",
			"read-only file system"},
		"the agent's pod sees only the folder": {root + "700 30 0:80 /kubectl-upgrade /opt/kubectl-upgrade ro - overlay sysext ro," + lower + "\n",
			"read-only file system: systemd-sysext makes all of /opt read-only for an extension with files there (gvisor, kata)" + advice},
	} {
		l := Layout{Dir: t.TempDir()}
		path := l.At("/proc/self/mountinfo")
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(test.mounts), 0o600)); err != nil {
			t.Fatal(err)
		}
		if got := l.explain(unix.EROFS).Error(); got != test.want {
			t.Errorf("%s: %s\nwant %s", name, got, test.want)
		}
		if other := fmt.Errorf("another one"); !errors.Is(l.explain(other), other) || l.explain(other).Error() != "another one" {
			t.Errorf("%s: %v", name, l.explain(other))
		}
	}
}
