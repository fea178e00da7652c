package sysupdate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/images"
)

// verifyContent mounts an image whose bytes are right, read-only and for a moment, and
// fails with ContentMismatch when the files in it are not what its name says.
func verifyContent(ctx context.Context, file *os.File, image host.Image) (err error) {
	path := file.Name()
	dir, err := os.MkdirTemp("", "kubectl-upgrade-image-")
	if err != nil {
		return fmt.Errorf("making a place to mount the image: %w", err)
	}
	defer func() { err = errors.Join(err, os.Remove(dir)) }()
	out, err := exec.CommandContext(ctx, "mount", "-o", "loop,ro,nosuid,nodev", path, dir).CombinedOutput() //nolint:gosec // the path of an image whose name was parsed
	if err != nil {
		return host.Fail(v1alpha1.ReasonContentMismatch, "the image %s cannot be mounted: %w: %s", path, err, host.LastLine(string(out)))
	}
	defer func() {
		if out, e := exec.CommandContext(context.WithoutCancel(ctx), "umount", dir).CombinedOutput(); e != nil { //nolint:gosec // the folder that was made above
			err = errors.Join(err, fmt.Errorf("unmounting the image: %w: %s", e, host.LastLine(string(out))))
		}
	}()
	return verifyMounted(ctx, file, dir, image)
}

// VerifyTree fails with ContentMismatch when a tree, such as a mounted image,
// is not that version of Kubernetes: by its version file, by its extension
// release, and by what kubelet and kubeadm say of themselves.
func VerifyTree(ctx context.Context, dir string, image host.Image) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("opening the image's files: %w", err)
	}
	defer func() { _ = root.Close() }()
	if err := verifyFiles(root, image); err != nil {
		return host.Fail(v1alpha1.ReasonContentMismatch, "the image %s does not hold what its name says: %w", image.Name(), err)
	}
	for _, program := range []struct {
		path   string
		args   []string
		prefix string
	}{
		{"usr/bin/kubelet", []string{"--version"}, "Kubernetes "},
		{"usr/bin/kubeadm", []string{"version", "-o", "short"}, ""},
	} {
		said, err := ask(ctx, filepath.Join(dir, program.path), program.args...)
		if err != nil {
			return host.Fail(v1alpha1.ReasonContentMismatch, "the image %s: asking its %s for its version: %w", image.Name(), program.path, err)
		}
		if version := strings.TrimPrefix(said, program.prefix); version != image.Version() {
			return host.Fail(v1alpha1.ReasonContentMismatch, "the image %s: its %s says that it is %q", image.Name(), program.path, version)
		}
	}
	return nil
}

// extensionRelease is why the merged file must be called kubernetes.raw
// (systemd-sysext(8)).
const extensionRelease = "usr/lib/extension-release.d/extension-release.kubernetes"

var releaseArchitecture = regexp.MustCompile(`(?m)^ARCHITECTURE=["']?([\w-]+)`)

// verifyFiles follows no symlink out of the image: root forbids it.
func verifyFiles(root *os.Root, image host.Image) error {
	version, err := root.ReadFile("usr/local/share/kubernetes-version")
	if err != nil {
		return err
	}
	if v := strings.TrimSpace(string(version)); v != image.Version() {
		return fmt.Errorf("its kubernetes-version is %q", v)
	}
	release, err := root.ReadFile(extensionRelease)
	if err != nil {
		return err
	}
	if m := releaseArchitecture.FindSubmatch(release); m != nil && string(m[1]) != images.SystemdArchitecture(image.Architecture) {
		return fmt.Errorf("it is for the architecture %s", m[1])
	}
	for _, program := range []string{"usr/bin/kubelet", "usr/bin/kubeadm"} {
		info, err := root.Lstat(program)
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is not a file", program)
		}
	}
	return nil
}

const askTimeout = 30 * time.Second

func ask(ctx context.Context, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...) //nolint:gosec // a program of an image whose hash was found right
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=/nonexistent"}
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}
