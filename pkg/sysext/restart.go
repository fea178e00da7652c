package sysext

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/nodefacts"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/sysupdate"
)

// Restart merges the image that is active and has its kubelet started, while the
// pods go on. It succeeds when the version is merged and a kubelet has stayed for
// a while; done twice, it restarts the kubelet twice and nothing else.
//
// Nothing has happened where it fails with the former version still merged. A
// refresh that fails can leave nothing merged: then only a reboot helps.
//
// Reasons: HashMismatch, RestartFailed.
func Restart(ctx context.Context, l host.Layout, args RestartArgs, log *host.Log) (*RestartOutput, error) {
	r := &restart{layout: l, log: log, run: runProgram, steady: kubeletSteady}
	err := r.restart(ctx, args.Version)
	return &r.out, err
}

// RestartArgs ask for an active image to be merged now.
type RestartArgs struct {
	Version string `json:"version"`
}

// RestartOutput says what was left.
type RestartOutput struct {
	// Merged is the version that /usr shows now; empty where none is.
	Merged string `json:"merged,omitempty"`
	// KubeletPID is the process of the kubelet that was started; 0 where none
	// stayed.
	KubeletPID int `json:"kubeletPID,omitempty"`
}

const (
	// refreshes is how often a refresh is tried: what was busy may be idle now.
	refreshes = 2
	// kubeletSteady is how long a kubelet has to stay, kubeletWithin how long
	// that may take. Its unit starts one that ended again after 10 s.
	kubeletSteady = 5 * time.Second
	kubeletWithin = time.Minute
	kubeletRound  = 500 * time.Millisecond
)

type restart struct {
	layout host.Layout
	log    *host.Log
	run    func(ctx context.Context, log *host.Log, program string, args ...string) (stdout string, err error)
	steady time.Duration
	out    RestartOutput
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

// verify fails with HashMismatch where the image is not the one that was activated:
// that may have been a while ago.
func (r *restart) verify(ctx context.Context, image host.Image) error {
	guard, err := r.layout.Guard()
	if err != nil || guard == nil || guard.To != image.Version() || guard.SHA256 == "" {
		return err
	}
	return sysupdate.VerifyHash(ctx, r.layout.At(image.Path()), guard.SHA256)
}

// merge has the version merged, where it is not already.
func (r *restart) merge(ctx context.Context, version string) error {
	if r.lookMerged(); r.out.Merged == version {
		return nil
	}
	blockers, err := nodefacts.RefreshBlockers(r.layout)
	if err != nil {
		return err
	}
	if len(blockers) > 0 {
		return fmt.Errorf("a refresh of the merged image would break what is mounted at %s", strings.Join(blockers, ", "))
	}
	for range refreshes {
		_, err = r.run(ctx, r.log, "systemd-sysext", "refresh")
		if r.lookMerged(); err == nil && r.out.Merged == version {
			return nil
		}
	}
	left := "nothing is merged now"
	if r.out.Merged != "" {
		left = r.out.Merged + " is merged now"
	}
	if err == nil {
		return fmt.Errorf("systemd-sysext refresh did not merge %s: %s", version, left)
	}
	return fmt.Errorf("%s: %w", left, err)
}

func (r *restart) lookMerged() {
	r.out.Merged = ""
	if merged, err := r.layout.Merged(); err == nil {
		r.out.Merged = merged.Version()
	}
}

// restartKubelet comes after a reload: the unit came with the image.
func (r *restart) restartKubelet(ctx context.Context) error {
	for _, args := range [][]string{{"daemon-reload"}, {"restart", "kubelet.service"}} {
		if _, err := r.run(ctx, r.log, "systemctl", args...); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, kubeletWithin)
	defer cancel()
	for since := time.Now(); time.Since(since) < r.steady; {
		select {
		case <-ctx.Done():
			return fmt.Errorf("kubelet.service was restarted and no kubelet stayed for %s", r.steady)
		case <-time.After(min(kubeletRound, r.steady)):
		}
		pid := r.kubeletPID(ctx)
		if pid == 0 || pid != r.out.KubeletPID {
			since = time.Now()
		}
		r.out.KubeletPID = pid
	}
	return nil
}

// kubeletPID is that of the active service, or 0.
func (r *restart) kubeletPID(ctx context.Context) int {
	text, err := r.run(ctx, r.log, "systemctl", "show", "--value", "--property=ActiveState,MainPID", "kubelet.service")
	if err != nil {
		return 0
	}
	words := strings.Fields(text) // in systemd's order, not in ours
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
