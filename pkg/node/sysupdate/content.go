package sysupdate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/image"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// verifyContent mounts an image, whose bytes were verified, read-only. It returns an
// error with the reason ContentMismatch if the files in it do not match its name.
func verifyContent(ctx context.Context, file *os.File, image host.Image) (err error) {
	path := file.Name()
	dir, err := os.MkdirTemp("", "kubectl-upgrade-image-")
	if err != nil {
		return fmt.Errorf("making a place to mount the image: %w", err)
	}
	defer func() { err = errors.Join(err, os.Remove(dir)) }()
	out, err := exec.CommandContext(ctx, "mount", "-o", "loop,ro,nosuid,nodev", path, dir).CombinedOutput() //nolint:gosec // the path of an image whose name was parsed
	if err != nil {
		said, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
		return host.Fail(v1alpha1.ReasonContentMismatch, "the image %s cannot be mounted: %s (%w: %s)", path, unmountable(file), err, said)
	}
	defer func() {
		if out, e := exec.CommandContext(context.WithoutCancel(ctx), "umount", dir).CombinedOutput(); e != nil { //nolint:gosec // the folder that was made above
			err = errors.Join(err, fmt.Errorf("unmounting the image: %w: %s", e, host.LastLine(string(out))))
		}
	}()
	return verifyMounted(ctx, file, dir, image)
}

// Ask runs a program of an image, and returns what it prints.
type Ask func(ctx context.Context, program string, args ...string) (string, error)

// askImage returns an Ask for the programs of an image's open file. It is replaced in tests,
// which have no systemd.
var askImage = func(image *os.File) Ask {
	return func(ctx context.Context, program string, args ...string) (string, error) {
		return host.RunConfined(ctx, host.Confined{Image: image, Program: program, Args: args})
	}
}

// VerifyTree returns an error with the reason ContentMismatch if a tree, such as a
// mounted image, does not have the image's version of Kubernetes. It checks the
// version file, the extension release, and the versions that kubelet and kubeadm
// report.
func VerifyTree(ctx context.Context, dir string, image host.Image, ask Ask) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("opening the image's files: %w", err)
	}
	defer func() { _ = root.Close() }()
	if err := verifyFiles(root, image); err != nil {
		return host.Fail(v1alpha1.ReasonContentMismatch, "the content of the image %s does not match its name: %w", image.Name(), err)
	}
	for _, program := range []struct {
		path   string
		args   []string
		prefix string
	}{
		{"usr/bin/kubelet", []string{"--version"}, "Kubernetes "},
		{"usr/bin/kubeadm", []string{"version", "-o", "short"}, ""},
	} {
		said, err := ask(ctx, program.path, program.args...)
		var failed *host.ProgramFailure
		switch {
		case errors.As(err, &failed):
			return host.Fail(v1alpha1.ReasonContentMismatch, "the image %s: its %s, run without rights to get the version, failed: %w", image.Name(), program.path, err)
		case err != nil:
			return fmt.Errorf("running %s of the image %s to get the version: %w", program.path, image.Name(), err)
		}
		if version := strings.TrimPrefix(said, program.prefix); version != image.Version() {
			return host.Fail(v1alpha1.ReasonContentMismatch, "the image %s: its %s reports the version %.80q", image.Name(), program.path, version)
		}
	}
	return nil
}

// extensionRelease has the suffix "kubernetes" because the symlink to the image is
// called kubernetes.raw (systemd-sysext(8)).
const extensionRelease = "usr/lib/extension-release.d/extension-release.kubernetes"

var releaseArchitecture = regexp.MustCompile(`(?m)^ARCHITECTURE=["']?([\w-]+)`)

// verifyFiles checks the files of an image. root does not follow symlinks out of it.
func verifyFiles(root *os.Root, want host.Image) error {
	version, err := readSmall(root, "usr/local/share/kubernetes-version")
	if err != nil {
		return err
	}
	if v := strings.TrimSpace(string(version)); v != want.Version() {
		return fmt.Errorf("its kubernetes-version is %.80q", v)
	}
	release, err := readSmall(root, extensionRelease)
	if err != nil {
		return err
	}
	if m := releaseArchitecture.FindSubmatch(release); m != nil && string(m[1]) != image.SystemdArchitecture(want.Architecture) {
		return fmt.Errorf("it is for the architecture %.80q", m[1])
	}
	for _, program := range []string{"usr/bin/kubelet", "usr/bin/kubeadm"} {
		if err := checkRegular(root, program); err != nil {
			return err
		}
	}
	return nil
}

// readSmall reads a file of which more than 4 KiB would be no use: no person has approved the image
// yet.
func readSmall(root *os.Root, path string) ([]byte, error) {
	if err := checkRegular(root, path); err != nil {
		return nil, err
	}
	file, err := root.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	const limit = 4 << 10
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if len(data) > limit {
		return nil, fmt.Errorf("its %s is longer than %d KiB", path, limit>>10)
	}
	return data, err
}

// checkRegular returns an error for what is no file, such as a FIFO that no program writes to.
func checkRegular(root *os.Root, path string) error {
	info, err := root.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("its %s is not a file", path)
	}
	return err
}

// VerifyHash returns an error with the reason HashMismatch if the sha256 of a file is
// another one. If there is no such file, the error is fs.ErrNotExist.
func VerifyHash(ctx context.Context, path, sha256Hex string) error {
	file, err := OpenVerified(ctx, path, sha256Hex)
	if err != nil {
		return err
	}
	return file.Close()
}

// OpenVerified opens a file and verifies its sha256. The caller can compare the open
// file with what is used later, as another file may have its name by then.
func OpenVerified(ctx context.Context, path, sha256Hex string) (*os.File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening the image: %w", err)
	}
	if err := verifyHash(ctx, file, sha256Hex); err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

func verifyHash(ctx context.Context, file *os.File, sha256Hex string) error {
	hash := sha256.New()
	if _, err := io.Copy(hash, contextReader{ctx, file}); err != nil {
		return fmt.Errorf("reading the image %s: %w", file.Name(), err)
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != sha256Hex {
		return host.Fail(v1alpha1.ReasonHashMismatch, "the image %s has the sha256 %s, not %s as fixed at the trigger", file.Name(), got, sha256Hex)
	}
	return nil
}

type contextReader struct {
	ctx  context.Context
	from io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.from.Read(p)
}

// VerifyMounted returns an error unless the image with that sha256 is mounted at
// dir. It compares the bytes of the file, then checks that this file is the one that
// is mounted, and only then runs programs of the image, confined, to get their versions.
//
// Reasons: HashMismatch, ContentMismatch.
func VerifyMounted(ctx context.Context, path, dir string, image host.Image, sha256Hex string) error {
	file, err := OpenVerified(ctx, path, sha256Hex)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	return verifyMounted(ctx, file, dir, image)
}

func verifyMounted(ctx context.Context, file *os.File, dir string, image host.Image) error {
	if err := backedBy(file, dir); err != nil {
		return host.Fail(v1alpha1.ReasonHashMismatch, "cannot confirm that %s is a mount of %s: %w", dir, file.Name(), err)
	}
	return VerifyTree(ctx, dir, image, askImage(file))
}

// backedBy returns an error unless the file system at dir is on a loop device that is
// backed by the open file.
func backedBy(file *os.File, dir string) error {
	var mounted, opened unix.Stat_t
	if err := unix.Stat(dir, &mounted); err != nil {
		return err
	}
	if unix.Major(mounted.Dev) != loopMajor {
		return errors.New("it is not on a loop device")
	}
	device := fmt.Sprintf("/dev/loop%d", unix.Minor(mounted.Dev))
	loop, err := os.Open(device)
	if err != nil {
		return err
	}
	defer func() { _ = loop.Close() }()
	backing, err := unix.IoctlLoopGetStatus64(int(loop.Fd()))
	if err != nil {
		return fmt.Errorf("reading the backing file of %s: %w", device, err)
	}
	if err := unix.Fstat(int(file.Fd()), &opened); err != nil {
		return err
	}
	if opened.Ino != backing.Inode || opened.Dev != backing.Device {
		return fmt.Errorf("%s is backed by another file", device)
	}
	return nil
}

// loopMajor is the major device number of loop devices.
const loopMajor = 7
