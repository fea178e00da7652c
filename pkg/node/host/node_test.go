//go:build integration

package host_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// inNode is the environment variable that is set for the run inside the machine.
const inNode = "HOST_TEST_IN_NODE"

// TestMain boots a machine from NODE_ROOTFS, the root file system of a Debian
// with systemd-container such as the lab's, and runs the tests in it: systemd,
// the system bus and logind are real. The machine has no network and writes to an
// overlay that is discarded.
func TestMain(m *testing.M) {
	if os.Getenv(inNode) != "" {
		os.Exit(runInNode(m))
	}
	status, err := runInside()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	os.Exit(status)
}

func runInside() (status int, err error) {
	rootfs := os.Getenv("NODE_ROOTFS")
	if _, err := os.Stat(filepath.Join(rootfs, "usr/lib/systemd/systemd-sysupdate")); rootfs == "" || err != nil {
		return 0, fmt.Errorf("NODE_ROOTFS=%q must be a root file system with systemd-sysupdate (and this test must be root)", rootfs)
	}
	dir, err := os.MkdirTemp("", "host-test-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := prepare(dir); err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(context.Background(), "sh", "-c", boot)
	cmd.Env = append(os.Environ(), "DIR="+dir,
		"SYSTEMD_CGROUP_ENABLE_LEGACY_FORCE=1", "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY="+unified(rootfs), "SYSTEMD_NSPAWN_API_VFS_WRITABLE=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	console, err := cmd.CombinedOutput()
	output, readErr := os.ReadFile(filepath.Join(dir, "out/test.log"))
	if readErr != nil {
		return 0, fmt.Errorf("the machine did not run the test: %w\n%s", err, console)
	}
	_, _ = os.Stdout.Write(output)
	text, err := os.ReadFile(filepath.Join(dir, "out/status"))
	if err != nil {
		return 0, fmt.Errorf("the machine did not end the test: %w\n%s", err, console)
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

// unified returns 1 if the machine gets version 2 control groups: systemd refuses version 1 since 258 (its NEWS), and before
// that the machine gets what it always had. No test here needs a controller.
func unified(rootfs string) string {
	libraries, _ := filepath.Glob(filepath.Join(rootfs, "usr/lib/*/systemd/libsystemd-shared-*.so"))
	for _, library := range libraries {
		var version int
		if _, err := fmt.Sscanf(filepath.Base(library), "libsystemd-shared-%d", &version); err == nil && version >= 258 {
			return "1"
		}
	}
	return "0"
}

// boot runs the machine in a new mount namespace. systemd-nspawn needs a tmpfs at
// /run/systemd/nspawn; its exit status is 133 after a reboot of the machine.
const boot = `set -e
mount --make-rprivate /
mkdir -p /run/systemd/nspawn
mount -t tmpfs tmpfs /run/systemd/nspawn
mkdir "$DIR/work" "$DIR/root"
mount -t overlay overlay -o "lowerdir=$NODE_ROOTFS,upperdir=$DIR/upper,workdir=$DIR/work" "$DIR/root"
status=0
systemd-nspawn --register=no --keep-unit --console=read-only -D "$DIR/root" -M "host-test-$$" --private-network \
  --capability=all --system-call-filter=@known --bind=/dev/loop-control --bind="$DIR/out:/out" \
  --setenv=SYSTEMD_CGROUP_ENABLE_LEGACY_FORCE=1 -b </dev/null || status=$?
echo "$status" >"$DIR/out/nspawn"
`

// prepare fills the overlay: this test program and its unit, node-agent, and a
// node with one image.
func prepare(dir string) error {
	upper := filepath.Join(dir, "upper")
	for name, text := range map[string]string{
		"etc/systemd/system/loops.service": "[Unit]\nDefaultDependencies=no\n[Service]\nType=oneshot\n" +
			"ExecStart=/bin/sh -c 'for i in $(seq 0 127); do [ -e /dev/loop$i ] || mknod /dev/loop$i b 7 $i; done'\n",
		"etc/systemd/system/test.service": "[Unit]\nAfter=loops.service\nRequires=loops.service\n[Service]\nType=oneshot\nEnvironment=" + inNode + "=1\n" +
			"ExecStart=/bin/sh -c '/test " + strings.Join(arguments(), " ") + " >>/out/test.log 2>&1; echo $? >/out/status'\n" +
			"ExecStopPost=/bin/sh -c '[ -e " + softRebootFile + " ] || systemctl poweroff --force --force'\n",
		// Nothing in the machine mounts it, so a soft reboot must not unmount it.
		"etc/systemd/system/out.mount.d/keep.conf": "[Unit]\nDefaultDependencies=no\n",
		"etc/dbus-1/system.d/com.coreos.update1.conf": `<busconfig><policy user="root"><allow own="com.coreos.update1"/></policy>` +
			`<policy context="default"><allow send_destination="com.coreos.update1"/></policy></busconfig>`,
		"usr/local/share/kubernetes-version":                                      "v1.34.3\n",
		"opt/extensions/kubernetes/kubectl-upgrade/kubernetes-v1.34.3-x86-64.raw": "not looked at",
	} {
		path := filepath.Join(upper, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	script := `set -e
mkdir -p "$UPPER/etc/extensions" "$UPPER/etc/systemd/system/multi-user.target.wants" "$UPPER/opt/kubectl-upgrade/bin" "$DIR/out" "$DIR/tree/usr/bin" "$DIR/tree/usr/local/share" "$DIR/tree/usr/lib/extension-release.d"
ln -s ../../opt/extensions/kubernetes/kubectl-upgrade/kubernetes-v1.34.3-x86-64.raw "$UPPER/etc/extensions/kubernetes.raw"
ln -s /etc/systemd/system/test.service "$UPPER/etc/systemd/system/multi-user.target.wants/"
cp "$SELF" "$UPPER/test"
CGO_ENABLED=0 go build -o "$UPPER/opt/kubectl-upgrade/bin/node-agent" ../../../cmd/node-agent
mkdir -p "$DIR/confined/usr/bin"
CGO_ENABLED=0 go build -o "$DIR/confined/usr/bin/tries" ./testdata/confined
printf '#!/bin/sh\necho a script >&2\nexec "${0%%/*}/tries" "$@"\n' >"$DIR/confined/usr/bin/script"
chmod 755 "$DIR/confined/usr/bin/script"
echo text >"$DIR/confined/usr/bin/text"
mksquashfs "$DIR/confined" "$UPPER/confined.raw" -quiet -no-progress -all-root
cd "$DIR/tree"
printf '#!/bin/sh\n[ $# = 0 ] && exec sleep infinity\ncase "$*" in *--refused*) echo unknown flag: --refused >&2; exit 1;; *--lock-file*) echo unable to acquire file lock >&2; exit 1;; esac\necho Kubernetes v1.34.4\n' >usr/bin/kubelet
mkdir -p usr/lib/systemd/system
printf '[Service]\nExecStart=/usr/bin/kubelet\nRestart=always\nRestartSec=10\n' >usr/lib/systemd/system/kubelet.service
printf '#!/bin/sh\nif [ "$1" = version ]; then echo v1.34.4; exit; fi\nif [ "$1" = config ]; then echo registry.k8s.io/pause:3.10; exit; fi\n[ -e /run/hang ] && exec sleep 600\necho "kubelet from PATH: $(command -v kubelet)"\necho "kubeadm $*"\n' >usr/bin/kubeadm
echo v1.34.4 >usr/local/share/kubernetes-version
printf 'ID=_any\nEXTENSION_RELOAD_MANAGER=1\nEXTENSION_RESTART_UNITS=kubelet.service\n' >usr/lib/extension-release.d/extension-release.kubernetes
chmod 755 usr/bin/*
mksquashfs . "$UPPER/opt/extensions/kubernetes/kubectl-upgrade/kubernetes-v1.34.4-x86-64.raw" -quiet -no-progress -all-root
echo v1.34.3 >usr/local/share/kubernetes-version
mksquashfs . "$UPPER/former.raw" -quiet -no-progress -all-root
echo v1.34.5 >usr/local/share/kubernetes-version
mksquashfs . "$UPPER/later.raw" -quiet -no-progress -all-root
echo v1.34.6 >usr/local/share/kubernetes-version
printf '#!/bin/sh\n: >/evil-ran\necho Kubernetes v1.34.6\n' >usr/bin/kubelet
printf '#!/bin/sh\necho v1.34.6\n' >usr/bin/kubeadm
mksquashfs . "$UPPER/evil.raw" -quiet -no-progress -all-root`
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(context.Background(), "sh", "-c", script)
	cmd.Env = append(os.Environ(), "DIR="+dir, "UPPER="+upper, "SELF="+self)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("preparing the machine: %w: %s", err, out)
	}
	return nil
}

// arguments returns this program's arguments without the file of go test's cache,
// which does not exist inside the machine.
func arguments() []string {
	return slices.DeleteFunc(slices.Clone(os.Args[1:]), func(arg string) bool {
		return strings.HasPrefix(arg, "-test.testlogfile=")
	})
}
