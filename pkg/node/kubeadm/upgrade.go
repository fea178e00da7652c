package kubeadm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/sysupdate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// Upgrade runs kubeadm from the image that its unit has mounted, and records that it
// succeeded.
//
// Pull has already pulled a control plane's container images. If one is missing,
// kubeadm's own preflight pulls it.
//
// Reasons: HashMismatch, ContentMismatch, DiskFull, KubeadmFailed.
func Upgrade(ctx context.Context, l host.Layout, args verb.KubeadmArgs, log *host.Log) (*UpgradeOutput, error) {
	if err := verifyMounted(ctx, l, args.Version, args.SHA256); err != nil {
		return nil, err
	}
	if err := restoreManifests(l, log); err != nil {
		return nil, err
	}
	if err := checkRoom(l); err != nil {
		return nil, err
	}
	if err := saveKubeletFiles(l); err != nil {
		return nil, err
	}
	out, err := run(ctx, l, args, log)
	if err = errors.Join(err, l.NoteKubeadm(true)); err != nil {
		return out, err
	}
	done := host.KubeadmDone{Version: args.Version, Command: string(args.Command), FinishedAt: time.Now().UTC()}
	if err := l.SetKubeadmDone(done); err != nil {
		return out, err
	}
	return out, pruneBackups(l)
}

// saveKubeletFiles saves the files with which the merged kubelet runs.
func saveKubeletFiles(l host.Layout) error {
	merged, err := l.Merged()
	if err != nil {
		return err
	}
	if _, err := l.SaveKubeletFiles(merged.Version()); err != nil {
		return err
	}
	return l.NoteKubeadm(false)
}

// mounted is replaced in tests, which have no mount.
var mounted = sysupdate.VerifyMounted

// verifyMounted verifies the bytes and the content of the image that the unit has
// mounted.
func verifyMounted(ctx context.Context, l host.Layout, version, sha256 string) error {
	image, err := host.NewImage(version, host.Architecture())
	if err != nil {
		return err
	}
	return mounted(ctx, l.At(image.Path()), l.At(host.ImageMount), image, sha256)
}

func run(ctx context.Context, l host.Layout, args verb.KubeadmArgs, log *host.Log) (*UpgradeOutput, error) {
	line, err := commandLine(l, args)
	if err != nil {
		return nil, err
	}
	logFile, err := openLog(host.StateDir(l.Root()))
	if err != nil {
		return nil, err
	}
	defer func() { _ = logFile.Close() }()
	cmd := exec.CommandContext(ctx, l.At(host.ImageMount, "usr/bin/kubeadm"), line.args...) //nolint:gosec // a version that was parsed, and no shell
	cmd.Env = environment(l, os.Environ())
	cmd.Stdin = line.stdin()
	cmd.Stdout = &both{logFile, log}
	cmd.Stderr = cmd.Stdout
	started := time.Now()
	err = execute(ctx, l, cmd)
	out := &UpgradeOutput{Args: line.args, LogFile: logFile.Name(), Duration: time.Since(started)}
	if err != nil {
		return out, host.Fail(v1alpha1.ReasonKubeadmFailed, "kubeadm %s: %w: %s (the complete output is in %s on the node)",
			line, err, lastError(log.Tail()), filepath.Join(host.StateDir(host.Root), host.KubeadmLog))
	}
	return out, nil
}

var errStopped = errors.New("kubeadm was stopped by its time limit, or because the node shuts down")

// execute runs kubeadm. If kubeadm was killed, it has not restored the manifests that
// it moved away, and startedFile stays. After a power cut the guard restores them at boot:
// a single control plane without one of its components would have no API server that the
// agent could ask.
func execute(ctx context.Context, l host.Layout, cmd *exec.Cmd) error {
	if err := l.EnableGuard(); err != nil {
		return err
	}
	if err := host.WriteFile(startedFile(l), nil, 0o600); err != nil {
		return fmt.Errorf("writing the file that marks a running kubeadm: %w", err)
	}
	err := cmd.Run()
	if cmd.ProcessState == nil {
		return err // it was not started
	}
	if cmd.ProcessState.Exited() {
		return errors.Join(err, os.Remove(startedFile(l)), l.DisableUnarmedGuard())
	}
	if ctx.Err() != nil || terminated(cmd.ProcessState) {
		return errStopped
	}
	return err
}

// terminated reports whether SIGTERM ended the process: systemd sends it to all processes of
// a unit that it stops.
func terminated(state *os.ProcessState) bool {
	status, ok := state.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGTERM
}
