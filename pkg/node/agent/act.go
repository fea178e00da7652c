package agent

import (
	"cmp"
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
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

// act carries out an action. Each action is idempotent. goesOn is true if what it has changed is known already, so
// that the next step can begin.
func (a *Agent) act(ctx context.Context, action machine.Action, r *round) (goesOn bool, err error) {
	if r.answer != nil && r.answer.Abandoned != nil && beginsToDisrupt(a.state.Step, a.drain.drained) {
		return false, fmt.Errorf("not beginning: %s", abandoned.Message) // since the rules were asked
	}
	if action.Do == machine.DoDrain {
		err := a.drain.round(ctx, action, r)
		return a.drain.drained != nil && a.drain.drained.Left == 0, err
	}
	node := a.kubelet.node()
	if node == nil {
		return false, fmt.Errorf("this node's Node object does not exist")
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	marked := func() bool { now := a.kubelet.node(); return now != nil && nodeOf(now).Marked() }
	switch action.Do {
	case machine.DoLook:
		err := a.drain.look(ctx, r)
		return len(a.drain.volumes.Attached) == 0, err
	case machine.DoWork:
		return false, a.work(ctx, action, r)
	case machine.DoTake:
		err := a.slots.take(ctx, r.Slot.Reserved, node)
		return a.slots.of(node, orderedSlot(r.order)).Held != "", err
	case machine.DoFree:
		err := a.free(ctx, node, r.Slot.Held)
		return a.slots.of(node, orderedSlot(r.order)).Held == "", err
	case machine.DoCordon:
		err := a.kubelet.patch(ctx, cordon(node, a.state.Upgrade.Name, r.Slot.Held))
		a.kubelet.uncordoned = false
		return marked(), err
	case machine.DoUncordon:
		err := a.kubelet.patch(ctx, uncordon(node))
		a.kubelet.uncordoned = err == nil
		return !marked(), err
	case machine.DoHold:
		return false, a.kubelet.patch(ctx, hold(node))
	case machine.DoDisown:
		return false, a.kubelet.patch(ctx, disown(node))
	case machine.DoReboot:
		return false, a.reboot(ctx, r, a.Host.Reboot)
	case machine.DoSoftReboot:
		return false, a.reboot(ctx, r, a.Host.SoftReboot)
	}
	return false, fmt.Errorf("unknown action %q", action.Do)
}

// reboot asks for a reboot of either kind, once etcd has said that it keeps its majority meanwhile.
func (a *Agent) reboot(ctx context.Context, r *round, ask func(context.Context) error) error {
	answered, refused := a.etcd.keepsMajority(ctx, r)
	if !answered {
		return nil
	}
	if err := a.checkAbandoned(ctx, r); err != nil {
		return err
	}
	asked := &a.host.reboots
	if asked.triedAt.IsZero() || asked.triedAt.After(r.Now) { // after: the clock was ahead
		asked.triedAt = r.Now
	}
	if refused == nil {
		refused = ask(ctx)
	}
	if asked.problem = refused; refused == nil {
		asked.askedAt = r.Now
	}
	return refused
}

// work starts a verb. A restart of the kubelet waits for etcd, and for what people say, as a reboot does.
func (a *Agent) work(ctx context.Context, action machine.Action, r *round) error {
	a.host.installed = a.host.installed && action.Verb != verb.Uninstall
	in := verb.Input{
		Spec: r.Spec, Method: a.state.Method, SoftReboots: r.Host.SoftReboots, Active: r.Host.Active,
		ClusterConfiguration: func() (string, error) { return a.clusterConfiguration(ctx) },
		KubeProxyConfig:      func() (string, error) { return a.kubeProxyConfig(ctx) },
	}
	if action.Verb == verb.Restart {
		answered, refused := a.etcd.keepsMajority(ctx, r)
		if !answered {
			return nil
		}
		if err := a.checkAbandoned(ctx, r); err != nil {
			return err
		}
		if refused != nil {
			return a.host.startEnded(verb.Restart, action.Key, v1alpha1.ReasonEtcdQuorum, refused)
		}
	}
	return a.host.start(ctx, action.Verb, action.Key, in, r.Rules != nil)
}

// abandonedTimeout limits the reads of checkAbandoned. The only API server may be down
// already, on the very node that is to reboot.
const abandonedTimeout = 5 * time.Second

// checkAbandoned returns an error if a person has abandoned the node. A node that hung after
// its last check may have stale watches, and must not reboot or restart its kubelet then. Where its order is gone, its
// slot alone says so. If the API server does not answer, the node finishes its attempt.
func (a *Agent) checkAbandoned(ctx context.Context, r *round) error {
	ctx, cancel := context.WithTimeout(ctx, abandonedTimeout)
	defer cancel()
	released := clusterstate.Hold{Message: "the NodeUpgrade was deleted"}
	switch now, err := a.orderNow(ctx, r); {
	case apierrors.IsNotFound(err):
	case err != nil:
		return nil
	default:
		if released = stillReleased(r.Spec, now); !released.Holds() && r.Spec.Release.Granted() {
			return nil
		}
	}
	node := a.kubelet.node()
	if node == nil {
		return nil
	}
	held, err := a.slots.changes.Held(ctx, ownerOf(node))
	if err != nil || held != "" {
		return nil
	}
	return fmt.Errorf("not going out of service: %s, and the slot is gone (%s)", cmp.Or(released.Message, "the release was withdrawn"), v1alpha1.ReasonAbandoned)
}

// free frees the slot if the Node has no annotation of ours. Unless this agent has removed them, and has not
// cordoned the node since, it reads the Node live: a stale watch may not show our latest cordon, and the next
// node would begin while this one is still cordoned.
func (a *Agent) free(ctx context.Context, node *corev1.Node, held string) error {
	if a.kubelet.uncordoned {
		a.kubelet.uncordoned = false
		return a.slots.free(ctx, held, node)
	}
	now, err := a.Kubelet.Nodes().Get(ctx, a.Node, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return fmt.Errorf("reading node %s before its slot is freed: %w", a.Node, err)
	case nodeOf(now).Marked():
		return fmt.Errorf("not freeing the slot of node %s: the node still has our annotations, which the watch does not show yet", a.Node)
	}
	return a.slots.free(ctx, held, node)
}
