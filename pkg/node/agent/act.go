package agent

import (
	"cmp"
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// Timeouts of single calls.
const (
	callTimeout  = 30 * time.Second
	drainTimeout = 2 * time.Minute
	// betweenRounds is the least time between two rounds of evictions.
	betweenRounds = 4 * time.Second
	// betweenLooks is the same while every pod that is left is terminating. The watch says when they have gone.
	betweenLooks = 9 * time.Second
)

// act carries out an action. Each action is idempotent.
func (a *Agent) act(ctx context.Context, action machine.Action, o machine.Observation) error {
	if a.answered && a.lastStatus.abandoned && a.beginsToDisrupt() {
		return fmt.Errorf("not beginning: %s", abandonedHold.Message) // since the gate was read
	}
	switch action.Do {
	case machine.DoDrain:
		return a.drain(ctx, action, o)
	case machine.DoLook:
		return a.lookAtVolumes(ctx, o)
	}
	node := a.node()
	if node == nil {
		return fmt.Errorf("this node's Node object does not exist")
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	switch action.Do {
	case machine.DoWork:
		a.installed = a.installed && action.Verb != verb.Uninstall
		input := verb.Input{
			Spec: o.Spec, Method: a.state.Method, SoftReboots: o.Host.SoftReboots, Active: o.Host.Active,
			ClusterConfiguration: func() (string, error) { return a.clusterConfiguration(ctx) },
		}
		return a.work(ctx, action, input, o)
	case machine.DoTake:
		return a.writeHolder(o.Slot.Reserved, ownerOf(node), func() error { return a.slots.Take(ctx, o.Slot.Reserved, ownerOf(node)) })
	case machine.DoFree:
		return a.writeHolder(o.Slot.Held, fleet.Owner{}, func() error { return a.free(ctx, node, o.Slot.Held) })
	case machine.DoCordon:
		a.uncordoned = false
		return a.patch(ctx, cordon(node, a.state.Upgrade.Name, o.Slot.Held))
	case machine.DoUncordon:
		err := a.patch(ctx, uncordon(node))
		a.uncordoned = err == nil
		return err
	case machine.DoHold:
		return a.patch(ctx, hold(node))
	case machine.DoDisown:
		return a.patch(ctx, disown(node))
	case machine.DoReboot:
		return a.reboot(ctx, o, a.Host.Reboot)
	case machine.DoSoftReboot:
		return a.reboot(ctx, o, a.Host.SoftReboot)
	}
	return fmt.Errorf("unknown action %q", action.Do)
}

// reboot asks for a reboot of either kind, once etcd has said that it keeps its majority meanwhile.
func (a *Agent) reboot(ctx context.Context, o machine.Observation, ask func(context.Context) error) error {
	answered, refused := a.keepsMajority(ctx, o)
	if !answered {
		return nil
	}
	if err := a.checkAbandoned(ctx, o); err != nil {
		return err
	}
	if a.rebootTriedAt.IsZero() || a.rebootTriedAt.After(o.Now) { // after: the clock was ahead
		a.rebootTriedAt = o.Now
	}
	if refused == nil {
		refused = ask(ctx)
	}
	if a.rebootProblem = refused; refused == nil {
		a.rebootAt = o.Now
	}
	return refused
}

// work starts a verb. A restart of the kubelet waits for etcd, and for what people say, as a reboot does.
func (a *Agent) work(ctx context.Context, action machine.Action, in verb.Input, o machine.Observation) error {
	if action.Verb == verb.Restart {
		answered, refused := a.keepsMajority(ctx, o)
		if !answered {
			return nil
		}
		if err := a.checkAbandoned(ctx, o); err != nil {
			return err
		}
		if refused != nil {
			return a.startEnded(verb.Restart, action.Key, v1alpha1.ReasonEtcdQuorum, refused)
		}
	}
	return a.start(ctx, action.Verb, action.Key, in, o.Gate != nil)
}

// roundDue reports whether it is time for another round of evictions.
func (a *Agent) roundDue(now time.Time) bool {
	if a.drained == nil {
		return true
	}
	pause := betweenRounds
	if len(a.ending) > 0 {
		pause = betweenLooks
	}
	age := now.Sub(a.drained.At)
	return age < 0 || age >= pause
}

// drain evicts pods. Once those have gone that the last round evicted, it only looks whether any are left.
func (a *Agent) drain(ctx context.Context, action machine.Action, o machine.Observation) error {
	ctx, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	a.ending = nil
	if a.onlyLooks {
		drained, err := a.drainer.Drained(ctx, o.Spec.Drain)
		if drained {
			a.drained = &machine.Drain{At: a.Now(), Message: "drained"}
		}
		return err
	}
	progress, err := a.drainer.Round(ctx, o.Spec.Drain, action.Delete)
	if err != nil {
		return err
	}
	a.ending = progress.Ending
	a.drained = &machine.Drain{At: a.Now(), Left: progress.Left, Blocked: progress.Blocked, Message: progress.Message}
	return progress.Refused
}

// lookAtVolumes looks which volumes of the node are still attached. What cannot be read may be.
func (a *Agent) lookAtVolumes(ctx context.Context, o machine.Observation) error {
	node := a.node()
	if node == nil {
		return fmt.Errorf("this node's Node object does not exist")
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	attached, err := a.drainer.Attached(ctx, node, o.Spec.Drain, a.state.AttachedVolumes)
	a.volumes = &machine.Volumes{At: a.Now(), Attached: attached}
	if err != nil {
		a.volumes.Problem = err.Error()
	}
	return err
}

// The first and the longest pause before a failed start of a verb is retried.
const (
	firstStartPause = 5 * time.Second
	lastStartPause  = time.Minute
)

// startFailure is why a verb could not be started, and the pause before the retry.
type startFailure struct {
	machine.StartFailure
	pause time.Duration
}

// start starts a verb on the host. gated says that the gate has just compared the order with its upgrade.
func (a *Agent) start(ctx context.Context, v verb.Verb, key string, in verb.Input, gated bool) error {
	entry, ok := verb.Lookup(v)
	if !ok {
		return fmt.Errorf("there is no host verb %q", v)
	}
	return a.startEnded(v, key, entry.Failed, a.startVerb(ctx, entry, key, in, gated))
}

// startEnded records why a verb could not be started, for the status, and returns that. The pauses between
// retries grow.
func (a *Agent) startEnded(v verb.Verb, key string, otherwise v1alpha1.Reason, err error) error {
	if err == nil {
		delete(a.startFailures, v)
		a.stageAgain = a.stageAgain && v != verb.Stage
		return nil
	}
	now, last := a.Now(), a.startFailures[v]
	if last.Key != key {
		last = startFailure{}
	}
	pause := min(max(2*last.pause, firstStartPause), lastStartPause)
	a.startFailures[v] = startFailure{pause: pause, StartFailure: machine.StartFailure{
		Key: key, Reason: host.ReasonOf(err, otherwise), Message: err.Error(), RetryAt: now.Add(pause),
	}}
	return err
}

func (a *Agent) startVerb(ctx context.Context, entry verb.Entry, key string, in verb.Input, gated bool) error {
	policy, err := a.checkPolicy(ctx, entry)
	if err != nil {
		return err
	}
	if policy != nil {
		in.Keyring = policy.Spec.Source.Keyring
	}
	if !gated {
		if err := a.checkSpec(ctx, entry, in); err != nil {
			return err
		}
	}
	request, err := entry.Request(key, in)
	if err != nil {
		return err
	}
	return a.Host.Start(ctx, request, entry.Options(in))
}

// clusterConfiguration returns kubeadm's ClusterConfiguration, from the ConfigMap
// kubeadm-config. Every kubelet may read it: kubeadm's Role kubeadm:nodes-kubeadm-config
// allows it to the group system:nodes (kubeadm 1.34, phases/uploadconfig).
func (a *Agent) clusterConfiguration(ctx context.Context) (string, error) {
	config, err := a.Kubelet.ConfigMaps(metav1.NamespaceSystem).Get(ctx, "kubeadm-config", metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("reading which container images the cluster uses, in the ConfigMap kube-system/kubeadm-config, as this node's kubelet: %w", err)
	}
	return config.Data["ClusterConfiguration"], nil
}

// abandonedTimeout limits the reads of checkAbandoned. The only API server may be down
// already, on the very node that is to reboot.
const abandonedTimeout = 5 * time.Second

// checkAbandoned returns an error if a person has abandoned the node. A node that hung after
// its last check may have stale watches, and must not reboot or restart its kubelet then. If the API server does
// not answer, the node finishes its attempt.
func (a *Agent) checkAbandoned(ctx context.Context, o machine.Observation) error {
	ctx, cancel := context.WithTimeout(ctx, abandonedTimeout)
	defer cancel()
	released, err := a.stillReleased(ctx, o)
	if err != nil || released.Reason == "" && o.Spec.Release.Granted() {
		return nil
	}
	node := a.node()
	if node == nil {
		return nil
	}
	held, err := a.slots.Held(ctx, ownerOf(node))
	if err != nil || held != "" {
		return nil
	}
	return fmt.Errorf("not going out of service: %s, and the slot is gone (%s)", cmp.Or(released.Message, "the release was withdrawn"), v1alpha1.ReasonAbandoned)
}
