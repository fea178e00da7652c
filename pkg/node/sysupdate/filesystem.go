package sysupdate

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"strings"
)

// fileKinds are what a file is that has these bytes at an offset. Those with a file system
// are what an image may be.
var fileKinds = []struct {
	offset     int
	magic      string
	filesystem string
	is         string
}{
	{0, "hsqs", "squashfs", ""},
	{1024, "\xe2\xe1\xf5\xe0", "erofs", ""},
	{1080, "\x53\xef", "ext4", ""},
	{0x10040, "_BHRfS_M", "btrfs", ""},
	{512, "EFI PART", "", "a disk with partitions, and not a file system"},
	{0, "\x1f\x8b", "", "compressed with gzip"},
	{0, "\x28\xb5\x2f\xfd", "", "compressed with zstd"},
	{0, "\xfd7zXZ", "", "compressed with xz"},
	{0, "BZh", "", "compressed with bzip2"},
	{0, "PK\x03\x04", "", "a zip archive"},
	{257, "ustar", "", "a tar archive"},
	{0, "<", "", "a page of a web server (HTML or XML)"},
}

// whyUnmountable says what a file is that cannot be mounted. mount(8) only says that it
// failed, and that the kernel's log may have more. supported is the content of
// /proc/filesystems.
func whyUnmountable(file io.ReaderAt, size int64, supported string) string {
	if size == 0 {
		return "it is empty"
	}
	head := make([]byte, 0x10040+8)
	n, _ := file.ReadAt(head, 0)
	head = head[:n]
	for _, kind := range fileKinds {
		if len(head) < kind.offset || !bytes.HasPrefix(head[kind.offset:], []byte(kind.magic)) {
			continue
		}
		if kind.filesystem == "" {
			return "it is " + kind.is
		}
		if kind.filesystem == "squashfs" && len(head) >= 48 {
			if used := binary.LittleEndian.Uint64(head[40:]); used > uint64(size) { //nolint:gosec // sizes are not negative
				return fmt.Sprintf("it is a squashfs of %d bytes, of which the file has %d: the rest is missing", used, size)
			}
		}
		if !strings.Contains(supported, "\t"+kind.filesystem+"\n") {
			return fmt.Sprintf("it is a file system of the kind %s, which the node's kernel does not know (/proc/filesystems)", kind.filesystem)
		}
		return fmt.Sprintf("it is a damaged file system of the kind %s, or one with features that the node's kernel does not know", kind.filesystem)
	}
	return "it is no file system that is known: not squashfs, erofs, ext4 or btrfs"
}

// unmountable returns what an image's open file is that cannot be mounted.
func unmountable(file *os.File) string {
	info, err := file.Stat()
	if err != nil {
		return err.Error()
	}
	supported, _ := os.ReadFile("/proc/filesystems")
	return whyUnmountable(file, info.Size(), string(supported))
}
