package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"
)

// RequireLayers checks that nodes can have their disks in state, over the files in
// cache. It does what nodes do: state has what a node writes, over files of the
// cache; and a sysext is merged over that, in which a file may be removed.
func RequireLayers(state, cache string) error {
	if err := errors.Join(os.MkdirAll(state, 0o755), os.MkdirAll(cache, 0o755)); err != nil {
		return fmt.Errorf("making the lab's folders: %w", err)
	}
	result := make(chan error, 1)
	go func() {
		// The thread has mounts of its own, and ends with the goroutine.
		runtime.LockOSThread()
		if err := errors.Join(unix.Unshare(unix.CLONE_NEWNS), unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")); err != nil {
			result <- fmt.Errorf("trying the file systems for nodes: %w", err)
			return
		}
		result <- tryLayers(state, cache)
	}()
	return <-result
}

func tryLayers(state, cache string) error {
	lower, err := tempDir(cache, "usr")
	defer os.RemoveAll(lower)
	if err != nil {
		return err
	}
	disk, err := tempDir(state, "upper", "work", "root")
	defer os.RemoveAll(disk)
	if err != nil {
		return err
	}
	root := filepath.Join(disk, "root")
	const fix = "choose another folder, on ext4, xfs or btrfs, with"
	layers := fmt.Sprintf("lowerdir=%s,upperdir=%s/upper,workdir=%s/work", lower, disk, disk)
	if err := unix.Mount("overlay", root, "overlay", 0, layers); err != nil {
		return fmt.Errorf("the file system of %s (%s) cannot hold what nodes write, with an overlay (%w): %s LAB_STATE", state, fileSystem(state), err, fix)
	}
	defer func() { _ = unix.Unmount(root, unix.MNT_DETACH) }()
	if err := os.Remove(filepath.Join(root, "usr")); err != nil {
		return fmt.Errorf("the file system of %s (%s) cannot record that a file was removed (%w): %s LAB_STATE", state, fileSystem(state), err, fix)
	}
	merged := fmt.Sprintf("lowerdir=%s:%s", root, lower)
	if err := unix.Mount("overlay", root, "overlay", unix.MS_RDONLY, merged); err != nil {
		return fmt.Errorf("the file system of %s (%s) cannot hold what nodes are made of, below two overlays (%w): %s LAB_CACHE", cache, fileSystem(cache), err, fix)
	}
	return unix.Unmount(root, unix.MNT_DETACH)
}

// tempDir makes a folder with folders in it.
func tempDir(in string, names ...string) (string, error) {
	dir, err := os.MkdirTemp(in, ".layers-")
	if err != nil {
		return "", fmt.Errorf("trying the file systems for nodes: %w", err)
	}
	for _, name := range names {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			return dir, fmt.Errorf("trying the file systems for nodes: %w", err)
		}
	}
	return dir, nil
}

// fileSystem names the kinds that cause trouble.
func fileSystem(dir string) string {
	var where unix.Statfs_t
	if err := unix.Statfs(dir, &where); err != nil {
		return err.Error()
	}
	switch where.Type {
	case unix.OVERLAYFS_SUPER_MAGIC:
		return "an overlay itself"
	case unix.NFS_SUPER_MAGIC:
		return "nfs"
	case unix.FUSE_SUPER_MAGIC:
		return "fuse"
	case unix.MSDOS_SUPER_MAGIC:
		return "vfat"
	}
	return fmt.Sprintf("kind %#x", where.Type)
}
