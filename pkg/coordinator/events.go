package coordinator

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plan"
)

// Reasons of events that are no reason to wait.
const (
	eventCreated   = "Created"
	eventTriggered = "Triggered"
	eventFinished  = "Finished"
	eventIgnored   = "CheckIgnored"
)

// tell records an event on a ClusterUpgrade.
func tell(recorder record.EventRecorder, u *v1alpha1.ClusterUpgrade, kind, reason, message string) {
	reference := &corev1.ObjectReference{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: "ClusterUpgrade",
		Name: u.Name, UID: u.UID, ResourceVersion: u.ResourceVersion,
	}
	recorder.Event(reference, kind, reason, message)
}

func (c *Coordinator) tellCreated(u *v1alpha1.ClusterUpgrade) {
	message := u.Spec.Version + " is on offer, and a schedule asks for patches"
	if u.Spec.Type == v1alpha1.TypeReboot {
		message = "a node's operating system asks for a reboot, and a schedule lets it have one"
	}
	tell(c.events, u, corev1.EventTypeNormal, eventCreated, message)
}

// tellIgnored records that somebody lets an upgrade go on in spite of a finding.
func (c *Coordinator) tellIgnored(u *v1alpha1.ClusterUpgrade, f v1alpha1.Finding) {
	tell(c.events, u, corev1.EventTypeWarning, eventIgnored, "spec.ignoreChecks lets "+f.ID+" through: "+f.Message)
	c.log.Warn("a check is ignored", "upgrade", u.Name, "check", f.ID, "object", f.Object, "message", f.Message)
}

// tellUpgrade says what is new about an upgrade: that it was triggered, why it
// waits, that it ended.
func (c *Coordinator) tellUpgrade(was *v1alpha1.ClusterUpgrade, now v1alpha1.ClusterUpgradeStatus) {
	reason, message := story(now)
	switch before, _ := story(was.Status); {
	case was.Status.Outcome == "" && now.Outcome != "":
		tell(c.events, was, corev1.EventTypeNormal, eventFinished, message)
	case was.Status.TriggeredAt == nil && now.TriggeredAt != nil:
		tell(c.events, was, corev1.EventTypeNormal, eventTriggered, triggered(now))
		if stalled(now) { // at once: what preflight found
			tell(c.events, was, corev1.EventTypeWarning, reason, message)
		}
	case before != reason:
		kind := corev1.EventTypeNormal
		if stalled(now) {
			kind = corev1.EventTypeWarning
		}
		tell(c.events, was, kind, reason, message)
	default:
		return
	}
	c.log.Info("an upgrade's state changed", "upgrade", was.Name, "progress", now.Progress, "reason", reason, "message", message)
}

func triggered(s v1alpha1.ClusterUpgradeStatus) string {
	if s.Type == v1alpha1.TypeReboot {
		return "nodes whose operating system asks for a reboot get one"
	}
	return "from " + s.FromVersion + " to " + s.ToVersion + "; the images are fixed"
}

func stalled(s v1alpha1.ClusterUpgradeStatus) bool {
	for _, condition := range s.Conditions {
		if condition.Type == v1alpha1.ConditionStalled {
			return condition.Status == "True"
		}
	}
	return false
}

// tellNode logs what a node was told.
func (c *Coordinator) tellNode(was *v1alpha1.NodeUpgrade, n plan.NodePlan) {
	before := "unknown"
	if was != nil {
		before = string(was.Spec.Release)
	}
	c.log.Info("decided for a node", "node", n.Name, "upgrade", n.Spec.Upgrade, "release", n.Spec.Release, "before", before,
		"slot", n.Slot, "reason", n.Reason, "message", n.Message)
}
