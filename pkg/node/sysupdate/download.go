package sysupdate

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// download downloads the image with systemd-sysupdate, after it has checked the source
// and the free space. systemd-sysupdate puts it into a folder of its own: if its database of
// what it has installed ever had that folder, a run with --cleanup=yes would find nothing
// there that it could delete.
func (s *staging) download(ctx context.Context) error {
	if err := s.source.check(ctx, s.args.SHA256); err != nil {
		return err
	}
	staging := s.layout.At(host.StagingDir)
	if err := errors.Join(os.RemoveAll(staging), os.MkdirAll(staging, 0o755), makeRoom(s.layout, s.image)); err != nil { //nolint:gosec // as the folder of images that it is in
		return fmt.Errorf("preparing the folder for the download: %w", err)
	}
	defer func() { _ = os.RemoveAll(staging) }()
	limit, err := s.limit(ctx)
	if err != nil {
		return err
	}
	definitions, err := s.writeDefinitions()
	if err != nil {
		return err
	}
	var output bytes.Buffer
	cmd, err := s.sysupdate(ctx, "--definitions="+definitions, "update", patchOf(s.image.Kubernetes))
	if err != nil {
		return err
	}
	cmd.Env = append(os.Environ(), "LC_ALL=C", "SYSTEMD_COLORS=0", "SYSTEMD_URLIFY=0")
	cmd.Stdout = io.MultiWriter(s.log, &output)
	cmd.Stderr = cmd.Stdout
	if err := runLimited(cmd, limit); err != nil {
		return explain(err, output.String(), s.image, limit)
	}
	if err := os.Rename(filepath.Join(staging, s.image.Name()), s.path()); err != nil {
		return fmt.Errorf("systemd-sysupdate reported success: %w", err)
	}
	return host.SyncDir(s.layout.At(host.KeptDir))
}

// writeDefinitions writes a separate folder of definitions. Its one conf offers the
// target's minor and has no CurrentSymlink=, so that systemd-sysupdate downloads the
// image and does not activate it.
func (s *staging) writeDefinitions() (dir string, err error) {
	conf := Conf{
		Line:   s.image.Kubernetes.Line(),
		Source: strings.ReplaceAll(s.source.folder, "%", "%%"),
		Target: host.StagingDir,
		Verify: s.source.keyring != nil,
	}
	dir = s.layout.At(host.DefinitionsDir(host.Root))
	if err := os.RemoveAll(dir); err != nil {
		return "", fmt.Errorf("clearing the sysupdate definitions for staging: %w", err)
	}
	name := filepath.Join(dir, "kubernetes-"+conf.Line+".conf")
	if err := host.WriteFile(name, []byte(conf.Render()), 0o644); err != nil {
		return "", fmt.Errorf("writing the sysupdate definition for staging: %w", err)
	}
	return dir, nil
}

// explain returns an error with a reason that it derives from what systemd-sysupdate
// printed, as the exit status only shows that it failed. The texts are those of systemd
// 252 to 262. Up to 257, "DOWNLOAD INVALID" means a wrong checksum or a wrong signature; the
// latter is also reported by itself.
func explain(err error, output string, image host.Image, limit int64) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return fmt.Errorf("running systemd-sysupdate: %w", err)
	}
	// At the limit a write fails or is incomplete, which it reports as an I/O error.
	for _, text := range []string{"signal XFSZ", "Failed to write file"} {
		if line := lineWith(output, text); line != "" {
			return host.Fail(v1alpha1.ReasonDiskFull, "%s is longer than %d MiB, the size that the server reported or the space that there is in %s: %s",
				image.Name(), limit>>20, host.ImagesDir, line)
		}
	}
	for _, sign := range []struct {
		text   string
		reason v1alpha1.Reason
	}{
		{"Signature verification failed", v1alpha1.ReasonSignatureInvalid},
		{"DOWNLOAD INVALID", v1alpha1.ReasonHashMismatch},
		{"Checksum of downloaded resource does not match", v1alpha1.ReasonHashMismatch},
		{"No space left on device", v1alpha1.ReasonDiskFull},
		{"' not found.", v1alpha1.ReasonNotOffered},
		{"Failed to retrieve", v1alpha1.ReasonSourceUnavailable},
		{"Transfer failed", v1alpha1.ReasonSourceUnavailable},
	} {
		if line := lineWith(output, sign.text); line != "" {
			return host.Fail(sign.reason, "downloading %s: systemd-sysupdate failed: %s", image.Name(), line)
		}
	}
	return fmt.Errorf("downloading %s: systemd-sysupdate ended with %w: %s", image.Name(), err, host.LastLine(output))
}

func lineWith(output, text string) string {
	for line := range strings.Lines(output) {
		if strings.Contains(line, text) {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

const (
	// maxImage is the largest allowed size of an image. The bakery's images have
	// about 100 MiB.
	maxImage = 2 << 30
	// margin is the space that stays free after the download. If the size of the
	// image is unknown, reservePercent of the file system stays free: below 10 % the
	// kubelet begins to evict pods.
	margin         = 32 << 20
	reservePercent = 15
	// smallestLimit is enough for the files that gpg writes to check a signature, for which
	// the same limit holds. With the gpg of systemd 262's time that is more than 4 KiB.
	smallestLimit = 1 << 20
)

// limit returns how many bytes may be written for the image: its size if the server
// reports it, or else what the disk has space for.
func (s *staging) limit(ctx context.Context) (int64, error) {
	size, err := s.source.size(ctx)
	if err != nil {
		return 0, err
	}
	free, total, err := s.layout.Room(host.ImagesDir)
	if err != nil {
		return 0, fmt.Errorf("reading the free space: %w", err)
	}
	if size < 0 {
		size = min(maxImage, free-max(margin, total/100*reservePercent))
		free = max(free, margin) // the margin is already subtracted
	}
	switch {
	case size > maxImage:
		return 0, host.Fail(v1alpha1.ReasonDiskFull, "%s has %d MiB, but an image may have at most %d MiB", s.image.Name(), size>>20, maxImage>>20)
	case size <= 0 || free < size+margin:
		return 0, host.Fail(v1alpha1.ReasonDiskFull, "%s needs %d MiB in %s, where %d MiB are free",
			s.image.Name(), (max(size, 0)+margin)>>20, host.ImagesDir, free>>20)
	}
	return max(size, smallestLimit), nil
}

// runLimited runs a program and limits the size of the files that it and its children
// may write: the kernel ends a process that exceeds it (setrlimit(2), RLIMIT_FSIZE).
// systemd-sysupdate has no such option and would fill the disk. The limit is set after
// the start, while the program still reads its definitions, long before a download.
func runLimited(cmd *exec.Cmd, limit int64) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	for resource, value := range map[int]uint64{unix.RLIMIT_FSIZE: uint64(max(0, limit)), unix.RLIMIT_CORE: 0} { //nolint:gosec // not negative
		err := unix.Prlimit(cmd.Process.Pid, resource, &unix.Rlimit{Cur: value, Max: value}, nil)
		if err != nil && !errors.Is(err, unix.ESRCH) { // ESRCH: it has already ended
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			return fmt.Errorf("limiting how much it may write: %w", err)
		}
	}
	return cmd.Wait()
}

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
	{512, "EFI PART", "", "a disk with partitions, such as one with verity, and not a file system"},
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
