package sim

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// A node that fails, and an upgrade that needs a person, must have a cause that the script
// put there.

// harmful are the faults after which a node may fail, and those that concern every node.
var (
	harmful    = []string{"power cut", "manual reboot", "partition", "verb fails", "replace node", "delete node", "image vanishes", "kubelet dies", "containerd fails", "joined later", "clock", "go back", "lie", "odd kubelet", "request lost", "renewal killed", "late part", "late taint"}
	harmfulAll = []string{"api down"}
)

// explain notes what a fault may explain later.
func (w *world) explain(f fault) {
	n := w.node(f.Who)
	switch {
	case slices.Contains(harmfulAll, f.Kind):
		w.explained["all"] = true
	case n != nil && slices.Contains(harmful, f.Kind):
		w.explainNode(n)
	}
}

// explainNode notes that the node may fail, and with a control plane any other.
func (w *world) explainNode(n *node) {
	if w.explained[n.name] = true; n.controlPlane {
		w.explained["all"] = true
	}
}

// noteStopped checks that a node which has failed, or was rolled back, had a reason to.
func (w *world) noteStopped(name string, step v1alpha1.Step) {
	n := w.node(name)
	if n == nil || step.Info().Phase != v1alpha1.PhaseStopped {
		return
	}
	w.since["failed "+n.uid] = w.now()
	// An abandoned node does not reboot again when its soft reboot merged nothing: its guard returns it. Nor does one
	// that takes itself for abandoned: its slot was given away, and its agent has begun with an old list.
	if w.script.Soft[name] != "" && (!w.since["abandoned "+n.uid].IsZero() || !w.since["robbed "+n.uid].IsZero()) {
		w.explained[name] = true
	}
	// Without its status, an agent takes the mark on its Node for that of an attempt that it began.
	if w.script.has("forge mark") && w.script.has("delete nodeupgrade") {
		w.explained[name] = true
	}
	if !w.explained["all"] && !w.explained[name] && len(n.broken) == 0 {
		w.broken("unexplained", "%s is in step %s, and nothing was done to it: %s", name, step, w.describe())
	}
}

// checkStalled checks that an upgrade that needs a person has a node that failed or does not
// come back, or findings.
func (w *world) checkStalled(u *v1alpha1.ClusterUpgrade) {
	if !meta.IsStatusConditionTrue(u.Status.Conditions, v1alpha1.ConditionStalled) || len(w.explained) > 0 || len(w.script.Broken) > 0 || !w.blockedSince.IsZero() {
		return
	}
	reason, message := u.Status.Explain()
	switch s := w.script; reason {
	case v1alpha1.ReasonNotStaged, v1alpha1.ReasonNotOffered, v1alpha1.ReasonHashMismatch:
		if s.has("republish") {
			return
		}
	case v1alpha1.ReasonRehearsalFailed:
		if s.has("odd extension") {
			return
		}
	case v1alpha1.ReasonSkew, v1alpha1.ReasonControlPlaneFirst:
		if s.has("leave pool") || s.has("abandon") || s.has("recreate upgrade") { // a control plane; an upgrade that is older by now
			return
		}
	case v1alpha1.ReasonUpgradeInvalid, v1alpha1.ReasonPreflight: // no node has what is to be taken back; what was is asked for again
		if s.has("take back") {
			return
		}
	case v1alpha1.ReasonWindowClosed, v1alpha1.ReasonAgentNotAnswering: // for the agents, while the coordinators' clock says otherwise
		if s.has("set coordinators' clock") {
			return
		}
	case v1alpha1.ReasonCertificateEndsFirst:
		if s.Certificates.Life > 0 {
			return
		}
	case v1alpha1.ReasonScheduleInvalid, v1alpha1.ReasonInsufficientTime: // so are the scripts' windows
		return
	case v1alpha1.ReasonEtcdQuorum:
		if s.ControlPlanes == 2 || s.has("abandon") { // a member that reboots, for which the next one does not wait any more
			return
		}
	case v1alpha1.ReasonNextBootDiffers: // it was abandoned between its activation and its reboot
		if s.has("abandon") {
			return
		}
	case v1alpha1.ReasonUnsupported:
		if len(s.Packages) > 0 || s.has("take back") || s.has("leave pool") || s.has("switch node") || s.has("observe") || s.has("abandon") || s.has("delete node") || s.has("replace node") {
			return // no node is left
		}
	case v1alpha1.ReasonExternalGateUnknown: // nothing answers
		if s.Gates || s.follower() {
			return
		}
	case v1alpha1.ReasonNotSoaked:
		if s.follower() {
			return
		}
	case v1alpha1.ReasonHookFailed:
		if s.Hooks {
			return
		}
	case v1alpha1.ReasonNotReadyAfterUpgrade, v1alpha1.ReasonNodeNotBack: // by an old Node, without its order, or by a wrong clock
		if s.has("set coordinators' clock") || s.has("miss") || w.seesOldNodes() || s.has("delete nodeupgrade") || s.has("lose order") {
			return
		}
	case v1alpha1.ReasonPolicyMissing:
		if w.livePolicy() == nil || w.now().Sub(w.since["policy"]) < grace {
			return
		}
	}
	w.broken("unexplained", "upgrade %s is stalled, and nothing was done to the cluster: %s: %s", u.Name, reason, message)
}

// seesOldNodes reports whether a coordinator has not been told of every change of Nodes.
func (w *world) seesOldNodes() bool {
	return slices.ContainsFunc(w.coordinators[:], func(c *coordinatorProgram) bool {
		return c != nil && slices.ContainsFunc(c.views, func(v *view) bool { return v.resource == "nodes" && v.behind() })
	})
}
