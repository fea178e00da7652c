package kubeadm

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/sysupdate"
)

// Upgrade runs kubeadm from the image that its unit has mounted, and records
// when that ended well.
//
// It pulls no images itself: kubeadm's own preflight does on control-plane
// nodes, from the registry that the cluster's configuration names, which
// `kubeadm config images pull` does not know.
//
// Reasons: HashMismatch, ContentMismatch, DiskFull, KubeadmFailed.
func Upgrade(ctx context.Context, l host.Layout, args UpgradeArgs, log *host.Log) (*UpgradeOutput, error) {
	image, err := host.NewImage(args.Version, host.Architecture())
	if err != nil {
		return nil, err
	}
	if err := sysupdate.VerifyHash(ctx, l.At(image.Path()), args.SHA256); err != nil {
		return nil, err
	}
	if err := sysupdate.VerifyTree(ctx, l.At(ImageMount), image); err != nil {
		return nil, err
	}
	if err := restoreManifests(l, log); err != nil {
		return nil, err
	}
	if err := checkRoom(l); err != nil {
		return nil, err
	}
	if _, err := l.SaveKubeletFiles(args.Version); err != nil {
		return nil, err
	}
	out, err := run(ctx, l, args, log)
	if err != nil {
		return out, err
	}
	done := host.KubeadmDone{Version: args.Version, Command: string(args.Command), FinishedAt: time.Now().UTC()}
	if err := l.SetKubeadmDone(done); err != nil {
		return out, err
	}
	return out, pruneBackups(l)
}

// errStopped: systemd ends a unit with SIGTERM to all of its processes.
var errStopped = errors.New("it was stopped, by its time limit or because the node shuts down")

func terminated(state *os.ProcessState) bool {
	status, ok := state.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGTERM
}

func run(ctx context.Context, l host.Layout, args UpgradeArgs, log *host.Log) (*UpgradeOutput, error) {
	line, err := commandLine(l, args)
	if err != nil {
		return nil, err
	}
	logFile, err := openLog(host.StateDir(l.Root()))
	if err != nil {
		return nil, err
	}
	defer logFile.Close()
	out := &UpgradeOutput{Args: line.args, LogFile: logFile.Name()}
	cmd := exec.CommandContext(ctx, l.At(ImageMount, "usr/bin/kubeadm"), line.args...)
	cmd.Env = environment(l, os.Environ())
	cmd.Stdin = line.stdin()
	cmd.Stdout = &both{logFile, log}
	cmd.Stderr = cmd.Stdout
	started := time.Now()
	err = cmd.Run()
	out.Duration = time.Since(started)
	if err != nil && (ctx.Err() != nil || terminated(cmd.ProcessState)) {
		err = errStopped
	}
	if err != nil {
		return out, host.Fail(v1alpha1.ReasonKubeadmFailed, "kubeadm %s: %w: %s (all of it is in %s on the node)",
			line, err, lastError(log.Tail()), filepath.Join(host.StateDir(host.Root), logName))
	}
	return out, nil
}
