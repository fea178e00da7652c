package host

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// inOwnMounts runs the test again where its mounts are not this machine's. It reports
// whether this is that run.
func inOwnMounts(t *testing.T) bool {
	t.Helper()
	if os.Getenv("LAB_OWN_MOUNTS") != "" {
		return true
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	cmd := exec.Command("sh", "-c", `mount --make-rprivate / && exec "$0" "$@"`, os.Args[0], "-test.v", "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), "LAB_OWN_MOUNTS=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Error(err)
	}
	return false
}

// mounted returns a folder where the arguments of mount have mounted something.
func mounted(t *testing.T, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("mount", append(args, dir)...).CombinedOutput(); err != nil {
		t.Skipf("mount %q: %v %s", args, err, out)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

func tmpfs(t *testing.T) string { return mounted(t, "-t", "tmpfs", "tmpfs") }

func overlay(t *testing.T) string {
	disk := tmpfs(t)
	for _, name := range []string{"lower", "upper", "work"} {
		if err := os.Mkdir(filepath.Join(disk, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return mounted(t, "-t", "overlay", "-o", fmt.Sprintf("lowerdir=%s/lower,upperdir=%[1]s/upper,workdir=%[1]s/work", disk), "overlay")
}

// formatted mounts a new file system of that kind from a file.
func formatted(t *testing.T, kind string) string {
	t.Helper()
	image := filepath.Join(t.TempDir(), "image")
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, 256<<20); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mkfs."+kind, image).CombinedOutput(); err != nil {
		t.Fatalf("mkfs.%s (make test installs it): %v %s", kind, err, out)
	}
	return mounted(t, "-o", "loop", image)
}

func TestLayers(t *testing.T) {
	if !inOwnMounts(t) {
		return
	}
	plain := func(t *testing.T) string { return t.TempDir() }
	btrfs := func(t *testing.T) string { return formatted(t, "btrfs") }
	vfat := func(t *testing.T) string { return formatted(t, "vfat") }
	for name, c := range map[string]struct {
		state, cache func(*testing.T) string
		want         string
	}{
		"this machine's":   {plain, plain, ""},
		"memory":           {tmpfs, tmpfs, ""},
		"btrfs":            {btrfs, btrfs, ""},
		"state on overlay": {overlay, plain, "(an overlay itself) cannot hold what nodes write, with an overlay (invalid argument): choose another folder, on ext4, xfs or btrfs, with LAB_STATE"},
		"cache on overlay": {plain, overlay, "(an overlay itself) cannot hold what nodes are made of, below two overlays (invalid argument): choose another folder, on ext4, xfs or btrfs, with LAB_CACHE"},
		"state on vfat":    {vfat, plain, "choose another folder, on ext4, xfs or btrfs, with LAB_STATE"},
	} {
		t.Run(name, func(t *testing.T) {
			state, cache := c.state(t), c.cache(t)
			err := RequireLayers(state, cache)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasSuffix(err.Error(), c.want) || strings.Contains(err.Error(), "\n")) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			for _, dir := range []string{state, cache} {
				if left, _ := filepath.Glob(filepath.Join(dir, ".layers*")); len(left) > 0 {
					t.Errorf("left over: %q", left)
				}
			}
		})
	}
}
