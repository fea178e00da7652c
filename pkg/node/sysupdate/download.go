package sysupdate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

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
