package sysext

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/facts"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/sysupdate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// Restart merges the active image and restarts the kubelet, while the pods keep
// running. It succeeds if the version is merged and the kubelet has kept running for a
// few seconds. A second call only restarts the kubelet again.
//
// The guard watches from before the refresh on, in case this process or the kubelet hangs.
//
// If it fails and the former version is still merged, nothing has changed, and the guard is
// disarmed. A failed refresh can also leave nothing merged: then only a reboot helps.
//
// Reasons: HashMismatch, RestartFailed.
func Restart(ctx context.Context, l host.Layout, args verb.RestartArgs, log *host.Log) (*RestartOutput, error) {
	r := &restart{layout: l, log: log, run: host.RunProgram, steady: kubeletSteady, startsGuard: true}
	err := r.restart(ctx, args.Version)
	return &r.out, err
}

// Return merges the former version, which is active again, as Restart does.
func Return(ctx context.Context, l host.Layout, version string, log *host.Log, run host.Runner) error {
	r := &restart{layout: l, log: log, run: run, steady: kubeletSteady}
	return r.restart(ctx, version)
}

// RestartOutput is the output of Restart. It is also set if Restart fails.
type RestartOutput struct {
	// Merged is the version that is merged now; empty if none is.
	Merged string `json:"merged,omitempty"`
	// KubeletPID is the process ID of the kubelet that was started last; 0 if it
	// does not run.
	KubeletPID int `json:"kubeletPID,omitempty"`
}

const (
	// refreshAttempts is how often a refresh is tried: a mount may be busy only for
	// a moment.
	refreshAttempts = 2
	// kubeletSteady is how long the kubelet has to keep running, kubeletTimeout how
	// long it may take until it has. Its unit restarts it after 10 s.
	kubeletSteady   = 5 * time.Second
	kubeletTimeout  = time.Minute
	kubeletInterval = 500 * time.Millisecond
)

type restart struct {
	layout host.Layout
	log    *host.Log
	run    host.Runner
	steady time.Duration
	// startsGuard starts the guard that the activation armed.
	startsGuard bool
	out         RestartOutput
}

func (r *restart) restart(ctx context.Context, version string) error {
	active, err := r.layout.Active()
	if err != nil {
		return err
	}
	if active.Version() != version {
		return fmt.Errorf("%s points to %s, not to %s", host.Link, active.Version(), version)
	}
	if err := r.verify(ctx, active); err != nil {
		return err
	}
	if err := r.merge(ctx, version); err != nil {
		return err
	}
	return r.restartKubelet(ctx)
}

// verify returns an error with the reason HashMismatch if the image has changed since
// its activation.
func (r *restart) verify(ctx context.Context, image host.Image) error {
	guard, err := r.layout.Guard()
	if err != nil || guard == nil || guard.To != image.Version() || guard.SHA256 == "" {
		return err
	}
	return sysupdate.VerifyHash(ctx, r.layout.At(image.Path()), guard.SHA256)
}

// merge merges the version unless it is already merged.
func (r *restart) merge(ctx context.Context, version string) error {
	if r.readMerged(); r.out.Merged == version {
		return nil
	}
	blockers, err := facts.RefreshBlockers(r.layout)
	if err != nil {
		return err
	}
	if len(blockers) > 0 {
		return fmt.Errorf("a refresh of the merged image would break what is mounted at %s", strings.Join(blockers, ", "))
	}
	if err := r.startGuard(ctx); err != nil {
		return err
	}
	former := r.out.Merged
	for range refreshAttempts {
		_, err = r.run(ctx, r.log, "systemd-sysext", "refresh")
		if r.readMerged(); err == nil && r.out.Merged == version {
			return nil
		}
	}
	left := "nothing is merged now"
	if r.out.Merged != "" {
		left = r.out.Merged + " is merged now"
	}
	if r.out.Merged == former && former != "" {
		err = errors.Join(err, r.stopGuard(ctx))
	}
	if err == nil {
		return fmt.Errorf("systemd-sysext refresh did not merge %s: %s", version, left)
	}
	return fmt.Errorf("%s: %w", left, err)
}

func (r *restart) readMerged() {
	r.out.Merged = ""
	if merged, err := r.layout.Merged(); err == nil {
		r.out.Merged = merged.Version()
	}
}

// restartKubelet restarts the kubelet and waits until it has kept running. systemd is
// reloaded first, because the kubelet's unit is part of the image.
func (r *restart) restartKubelet(ctx context.Context) error {
	for _, args := range [][]string{{"daemon-reload"}, {"restart", "kubelet.service"}} {
		if _, err := r.run(ctx, r.log, "systemctl", args...); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, kubeletTimeout)
	defer cancel()
	for since := time.Now(); time.Since(since) < r.steady; {
		select {
		case <-ctx.Done():
			return fmt.Errorf("kubelet.service was restarted, but the kubelet did not keep running for %s", r.steady)
		case <-time.After(min(kubeletInterval, r.steady)):
		}
		pid := r.kubeletPID(ctx)
		if pid == 0 || pid != r.out.KubeletPID {
			since = time.Now()
		}
		r.out.KubeletPID = pid
	}
	return nil
}

// kubeletPID returns the main process ID of kubelet.service, or 0 if the service is not
// active.
func (r *restart) kubeletPID(ctx context.Context) int {
	text, err := r.run(ctx, r.log, "systemctl", "show", "--value", "--property=ActiveState,MainPID", "kubelet.service")
	if err != nil {
		return 0
	}
	words := strings.Fields(text) // the properties are not in the order of the command line
	pid, active := 0, false
	for _, word := range words {
		if n, err := strconv.Atoi(word); err == nil {
			pid = n
		}
		active = active || word == "active"
	}
	if !active {
		return 0
	}
	return pid
}

// cleanUpTimeout is how long systemd may take to stop the guard.
const cleanUpTimeout = 30 * time.Second

// startGuard starts the guard if it is armed.
func (r *restart) startGuard(ctx context.Context) error {
	if !r.startsGuard {
		return nil
	}
	armed, err := r.layout.GuardArmed()
	if err != nil || !armed {
		return err
	}
	for _, args := range [][]string{{"daemon-reload"}, {"start", "--no-block", host.GuardUnit}} {
		if _, err := r.run(ctx, r.log, "systemctl", args...); err != nil {
			return fmt.Errorf("starting the guard: %w", err)
		}
	}
	return nil
}

// stopGuard ends the guard: nothing was changed that it could undo.
func (r *restart) stopGuard(ctx context.Context) error {
	if !r.startsGuard {
		return nil
	}
	return r.layout.StopGuard(ctx, r.log, r.run)
}

// CleanUp ends the guard if the verb was killed before it merged anything: the agent then
// reboots the node instead, which may take long.
func CleanUp(l host.Layout, log *host.Log) error {
	guard, err := l.Guard()
	if err != nil || guard == nil {
		return err
	}
	if merged, err := l.Merged(); err != nil || merged.Version() != guard.From {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), cleanUpTimeout)
	defer cancel()
	return l.StopGuard(ctx, log, host.RunProgram)
}
