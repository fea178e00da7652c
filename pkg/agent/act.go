package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/drain"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/etcd"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kubeadm"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/sysext"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/sysupdate"
)

// Limits for single calls and for work on the host that hangs.
const (
	callWithin     = 30 * time.Second
	drainWithin    = 2 * time.Minute
	stageWithin    = time.Hour
	activateWithin = 10 * time.Minute
	restartWithin  = 5 * time.Minute
	// betweenRounds keeps a node's busy pods from causing a round of evictions
	// with each of their changes. One that has left is worth a round at once.
	betweenRounds = 4 * time.Second
)

// act does one action. To do one again that was done already is harmless.
func (a *Agent) act(ctx context.Context, action machine.Action, o machine.Observation) error {
	if action.Do == machine.DoDrain {
		return a.drain(ctx, action, o)
	}
	node := a.node()
	if node == nil {
		return fmt.Errorf("this node's Node object is not there")
	}
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	switch action.Do {
	case machine.DoDisarm:
		return a.start(ctx, host.VerbDisarm, action.Key, nil, host.Options{RuntimeMax: activateWithin})
	case machine.DoRestart:
		args := sysext.RestartArgs{Version: o.Host.Active}
		return a.start(ctx, host.VerbRestart, action.Key, args, host.Options{RuntimeMax: restartWithin})
	case machine.DoStage, machine.DoPull, machine.DoKubeadm, machine.DoActivate:
		return a.work(ctx, action, o.Spec)
	case machine.DoSnapshot:
		return a.start(ctx, host.VerbSnapshot, action.Key, etcd.SnapshotArgs{Upgrade: o.Spec.Upgrade}, host.Options{RuntimeMax: etcd.RuntimeMax})
	case machine.DoTake:
		_, err := a.slots.Take(ctx, ownerOf(node))
		return err
	case machine.DoFree:
		return a.free(ctx, node)
	case machine.DoCordon:
		return a.patch(ctx, cordon(node, o.Spec.Upgrade, o.Slot.Held))
	case machine.DoUncordon:
		return a.patch(ctx, uncordon(node))
	case machine.DoReboot:
		return a.reboot(ctx, o)
	}
	return fmt.Errorf("unknown action %q", action.Do)
}

// work has the host do what takes time. Each verb runs once at a time.
func (a *Agent) work(ctx context.Context, action machine.Action, spec v1alpha1.NodeUpgradeSpec) error {
	if spec.Image == nil {
		return fmt.Errorf("upgrade %q names no image for this node", spec.Upgrade)
	}
	switch action.Do {
	case machine.DoStage:
		args := sysupdate.StageArgs{Version: spec.Version, URL: spec.Image.URL, SHA256: spec.Image.SHA256}
		return a.start(ctx, host.VerbStage, action.Key, args, host.Options{RuntimeMax: stageWithin})
	case machine.DoPull:
		return a.pull(ctx, action.Key, spec)
	case machine.DoKubeadm:
		args := kubeadm.UpgradeArgs{Version: spec.Version, Command: spec.Kubeadm, SHA256: spec.Image.SHA256}
		return a.start(ctx, host.VerbKubeadm, action.Key, args, kubeadm.Options(spec.Version, spec.Image.Architecture))
	case machine.DoActivate:
		args := sysupdate.ActivateArgs{Version: spec.Version, SHA256: spec.Image.SHA256}
		return a.start(ctx, host.VerbActivate, action.Key, args, host.Options{RuntimeMax: activateWithin})
	}
	return fmt.Errorf("unknown action %q", action.Do)
}

func (a *Agent) start(ctx context.Context, verb host.Verb, key string, args any, options host.Options) error {
	request, err := host.NewRequest(verb, key, args)
	if err != nil {
		return err
	}
	return a.Host.Start(ctx, request, options)
}

func (a *Agent) reboot(ctx context.Context, o machine.Observation) error {
	if err := a.givenUp(ctx, o); err != nil {
		return err
	}
	if err := a.Host.Reboot(ctx); err != nil {
		a.refused = err.Error()
		return err
	}
	a.rebootAt, a.refused = o.Now, ""
	return nil
}

func (a *Agent) drain(ctx context.Context, action machine.Action, o machine.Observation) error {
	left := a.pods.left.Swap(false)
	if a.drained != nil && !left && !action.Delete && o.Now.Sub(a.drained.At) < betweenRounds {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, drainWithin)
	defer cancel()
	progress, err := a.drainer.Round(ctx, drain.Options{
		Force:              o.Spec.Drain.Force,
		GracePeriodSeconds: o.Spec.Drain.GracePeriodSeconds,
		Delete:             action.Delete,
	})
	if err != nil {
		return err
	}
	a.drained = &machine.Drain{At: a.Now(), Left: progress.Left, Blocked: progress.Blocked, Message: progress.Message}
	return nil
}
