package sysupdate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"

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

// readSmall reads a file of which more than 4 KiB would be no use: nobody has approved the image
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

// checkRegular returns an error for what is no file, such as a FIFO, which nobody would write to.
func checkRegular(root *os.Root, path string) error {
	info, err := root.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("its %s is not a file", path)
	}
	return err
}
