// Package progress says how far a node is on its way to a version, and why it waits, from the objects
// of its cluster. It is pure: values in, values out.
package progress

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// State is how far a node is.
type State string

// The states.
const (
	// Done: the node runs the version, is Ready and in service.
	Done State = "Done"
	// AtWork: the node has begun, or was released.
	AtWork State = "AtWork"
	// Stopped: the upgrade of the node failed, and a person is needed.
	Stopped State = "Stopped"
	// Next: the node waits for nothing but to be asked for, or was asked for already.
	Next State = "Next"
	// Waits: something else holds the node.
	Waits State = "Waits"
)

// Facts are what is known about a node.
type Facts struct {
	// To is the version that the node is to have.
	To version.Version
	// ControlPlane: static pods have to have the version, too.
	ControlPlane bool
	Node         *corev1.Node
	// NodeUpgrade may be nil: kubectl-upgrade does not know the node.
	NodeUpgrade *v1alpha1.NodeUpgrade
	// Upgrade is the ClusterUpgrade to the version. Nil: there is none yet.
	Upgrade *v1alpha1.ClusterUpgrade
	// Others are the other ClusterUpgrades.
	Others []v1alpha1.ClusterUpgrade
}

// Verdict is how far a node is, why, and a sentence about it that begins with its name. The sentence
// is the same as long as the reason is.
type Verdict struct {
	State   State
	Reason  v1alpha1.Reason
	Message string
}

// Of returns how far the node is.
func Of(f Facts) Verdict {
	v := f.verdict()
	v.Message = f.Node.Name + " " + v.Message
	return v
}

func (f Facts) verdict() Verdict {
	n := f.NodeUpgrade
	unable := unable(n)
	if unable.Reason == v1alpha1.ReasonUnsupported || n == nil {
		return unable
	}
	phase := n.Status.Step.Info().Phase
	switch {
	case phase == v1alpha1.PhaseStopped:
		return f.stopped()
	case phase == v1alpha1.PhaseRevocable || phase == v1alpha1.PhaseCommitted:
		return Verdict{AtWork, v1alpha1.ReasonReleased, n.Status.Step.Info().Doing}
	case f.hasVersion():
		return f.inService()
	case unable.State != "":
		return unable
	}
	return f.beforeWork()
}

// Able returns a Verdict with the state Waits if a node is one that kubectl-upgrade never upgrades, and
// an empty one otherwise.
func Able(node string, n *v1alpha1.NodeUpgrade) Verdict {
	v := unable(n)
	if v.State != "" {
		v.Message = node + " " + v.Message
	}
	return v
}

func unable(n *v1alpha1.NodeUpgrade) Verdict {
	switch {
	case n == nil:
		return Verdict{Waits, v1alpha1.ReasonUnmanaged, "is not known to kubectl-upgrade: install its agents in the workload cluster"}
	case n.Status.LacksImage():
		return Verdict{Waits, v1alpha1.ReasonUnsupported, "cannot be upgraded in place: " + orElse(n.Status.ImageProblem.Text(), "Kubernetes does not come to it as a sysext image")}
	case !n.Spec.Managed:
		reason, why := n.Status.Hold()
		return waits(orReason(reason, v1alpha1.ReasonUnmanaged), orElse(why, "the UpgradePolicy does not manage it"))
	}
	return Verdict{}
}

// beforeWork is the verdict on a node that has not begun.
func (f Facts) beforeWork() Verdict {
	n := f.NodeUpgrade
	reason, why := n.Status.Hold()
	switch {
	case f.Upgrade == nil:
		return waits(v1alpha1.ReasonNoUpgrade, "there is no ClusterUpgrade to "+f.To.String()+" yet")
	case n.Spec.Upgrade == nil || n.Spec.Upgrade.UID != string(f.Upgrade.UID):
		// The node has no order for this upgrade: another one is active, or this one cannot begin. One in which
		// no node is asked for makes way as soon as a node of this one is.
		if reason, _ := f.Upgrade.Status.Explain(); reason == v1alpha1.ReasonQueued && f.asksForNone() {
			return Verdict{Next, v1alpha1.ReasonNotRequested, "waits for nothing but Cluster API"}
		}
		if reason, why := f.Upgrade.Status.Explain(); reason != "" && f.Upgrade.Status.ObservedGeneration >= 0 {
			return waits(reason, why)
		}
		return waits(v1alpha1.ReasonQueued, "the coordinator has not read ClusterUpgrade "+f.Upgrade.Name+" yet")
	case n.Spec.Release != "" && n.Spec.Release != v1alpha1.ReleaseNone, n.Status.Step == v1alpha1.StepKubeadmAhead:
		return Verdict{AtWork, v1alpha1.ReasonReleased, "was released"}
	case reason == v1alpha1.ReasonNotRequested:
		return Verdict{Next, reason, "waits for nothing but Cluster API"}
	case reason != "":
		return waits(f.agents(reason, why))
	}
	return waits(f.agents(v1alpha1.ReasonAwaitingRelease, "the coordinator has not decided about it yet"))
}

// asksForNone reports whether the upgrade that is active waits until Cluster API asks for a node.
func (f Facts) asksForNone() bool {
	return slices.ContainsFunc(f.Others, func(u v1alpha1.ClusterUpgrade) bool {
		reason, _ := u.Status.Explain()
		return u.Status.Outcome == "" && u.UID != f.Upgrade.UID && reason == v1alpha1.ReasonNotRequested
	})
}

// agents returns what the node's agent says instead, if the node waits for the agent itself.
func (f Facts) agents(reason v1alpha1.Reason, why string) (v1alpha1.Reason, string) {
	if cause, message := f.NodeUpgrade.Status.Explain(); cause != "" && cause != v1alpha1.ReasonAwaitingRelease && cause != v1alpha1.ReasonUpToDate && message != "" {
		return cause, message
	}
	return reason, why
}

func (f Facts) stopped() Verdict {
	reason, why := f.NodeUpgrade.Status.Cause()
	if of := f.NodeUpgrade.Status.Upgrade; f.Upgrade != nil && of != nil && of.UID != string(f.Upgrade.UID) {
		return waits(reason, "it failed in upgrade "+of.Name+", and begins again in "+f.Upgrade.Name)
	}
	what := "failed"
	if f.NodeUpgrade.Status.Step == v1alpha1.StepRolledBack {
		what = "was returned to its former version"
	}
	return Verdict{Stopped, reason, what + ": " + why + ". Fix the cause, then run `kubectl upgrade apply " + f.To.String() + " --retry` in the workload cluster"}
}

// hasVersion reports whether the node runs the version, or a later one.
func (f Facts) hasVersion() bool {
	versions := f.NodeUpgrade.Status.Versions
	return version.Reached(f.Node.Status.NodeInfo.KubeletVersion, f.To) && version.Reached(versions.Kubelet, f.To) &&
		(!f.ControlPlane || version.Reached(versions.ControlPlane, f.To))
}

// inService is the verdict on a node that has the version: it also has to be in service.
func (f Facts) inService() Verdict {
	switch {
	case f.NodeUpgrade.Status.Slot != "":
		return Verdict{AtWork, v1alpha1.ReasonReleased, "frees its slot"}
	case !ready(f.Node):
		return waits(v1alpha1.ReasonNodeNotReady, "the node has "+f.To.String()+" and is not Ready")
	case f.Node.Spec.Unschedulable:
		return waits(v1alpha1.ReasonUpToDate, "the node has "+f.To.String()+" and is cordoned: uncordon it")
	}
	return Verdict{Done, v1alpha1.ReasonUpToDate, "has " + f.To.String()}
}

func ready(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

func waits(reason v1alpha1.Reason, why string) Verdict {
	if !strings.HasPrefix(why, "waits ") {
		why = "waits: " + why
	}
	return Verdict{Waits, reason, why}
}

func orElse(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

func orReason(reason, otherwise v1alpha1.Reason) v1alpha1.Reason {
	if reason == "" {
		return otherwise
	}
	return reason
}
