package coordinator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/slot"
)

// Reasons of events that are not reasons to wait.
const (
	eventCreated   = "Created"
	eventTriggered = "Triggered"
	eventFinished  = "Finished"
	eventIgnored   = "CheckIgnored"
	eventReturned  = "Returned"
	eventReplaced  = "ImageReplaced"
	eventNotBack   = "SlotFreed"
)

// record records an event on one of our objects.
func (c *Coordinator) record(kind string, object metav1.Object, eventType, reason, message string) {
	c.events.Event(&corev1.ObjectReference{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: kind,
		Name: object.GetName(), UID: object.GetUID(), ResourceVersion: object.GetResourceVersion(),
	}, eventType, reason, message)
}

func (c *Coordinator) recordUpgrade(u *v1alpha1.ClusterUpgrade, eventType, reason, message string) {
	c.record("ClusterUpgrade", u, eventType, reason, message)
}

func (c *Coordinator) recordCreated(u *v1alpha1.ClusterUpgrade) {
	message := u.Spec.Version + " is available, and the UpgradePolicy asks for patches"
	switch u.Spec.Type {
	case v1alpha1.TypeReboot:
		message = "a node's operating system asks for a reboot, and the UpgradePolicy asks for reboots"
	case v1alpha1.TypeCertificates:
		message = "a control plane's certificate expires soon, and the UpgradePolicy asks for renewals"
	}
	c.recordUpgrade(u, corev1.EventTypeNormal, eventCreated, message)
}

// recordIgnored records that an upgrade ignores a blocking finding.
func (c *Coordinator) recordIgnored(u *v1alpha1.ClusterUpgrade, f v1alpha1.Finding) {
	c.recordUpgrade(u, corev1.EventTypeWarning, eventIgnored, "spec.ignoreChecks ignores "+f.ID+": "+f.Message)
	c.log.Warn("a check is ignored", "upgrade", u.Name, "check", f.ID, "object", f.Object, "message", f.Message)
}

// recordReturned records that a node which was abandoned takes part again.
func (c *Coordinator) recordReturned(n *v1alpha1.NodeUpgrade) {
	c.record("NodeUpgrade", n, corev1.EventTypeNormal, eventReturned,
		fmt.Sprintf("its agent reports again, after it was abandoned (%s): it takes part in upgrades", n.Abandoned.Comment))
	c.log.Info("a node that was abandoned reports again", "node", n.Name)
}

// recordNotBack records that the slot of a deleted Node was freed though its machine did not come back.
func (c *Coordinator) recordNotBack(owner clusterstate.Owner) {
	node := &corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: owner.Node, UID: types.UID(owner.UID)}
	c.events.Event(node, corev1.EventTypeWarning, eventNotBack,
		"the Node was deleted while an upgrade had its machine out of service, and none of its name came back in time: its slot was freed, and other nodes go on; "+
			"if the machine still exists, find out why it does not join")
}

// recordProgress records what is new about an upgrade: that it was triggered, why it
// waits, that it ended.
func (c *Coordinator) recordProgress(was *v1alpha1.ClusterUpgrade, now v1alpha1.ClusterUpgradeStatus) {
	eventType := corev1.EventTypeNormal
	if meta.IsStatusConditionTrue(now.Conditions, v1alpha1.ConditionStalled) {
		eventType = corev1.EventTypeWarning
	}
	before, _ := succeeded(was.Status)
	reason, message := succeeded(now)
	ends := was.Status.Outcome == "" && now.Outcome != ""
	triggers := was.Status.TriggerTime == nil && now.TriggerTime != nil
	if !ends && !triggers && before == reason {
		return
	}
	if triggers {
		c.recordUpgrade(was, corev1.EventTypeNormal, eventTriggered, triggered(was.Spec.Version, now))
	}
	switch {
	case ends:
		c.recordUpgrade(was, corev1.EventTypeNormal, eventFinished, message)
	case before != reason: // also in the write that triggers it: a hold may begin there
		c.recordUpgrade(was, eventType, reason, message)
	}
	c.log.Info("an upgrade's state changed", "upgrade", was.Name, "progress", now.Progress, "reason", reason, "message", message)
}

func triggered(version string, s v1alpha1.ClusterUpgradeStatus) string {
	switch s.Type {
	case v1alpha1.TypeReboot:
		return "nodes whose operating system asks for a reboot get one"
	case v1alpha1.TypeCertificates:
		return "kubeadm renews the certificates of control planes"
	}
	return "from " + s.FromVersion + " to " + version + "; the images are fixed"
}

// logSpec logs a NodeUpgrade's spec that was written.
func (c *Coordinator) logSpec(was *v1alpha1.NodeUpgrade, n plan.NodePlan) {
	var before v1alpha1.Release
	if was != nil {
		before = was.Spec.Release
	}
	upgrade := ""
	if n.Spec.Upgrade != nil {
		upgrade = n.Spec.Upgrade.Name
	}
	c.log.Info("wrote a NodeUpgrade's spec", "node", n.Name, "upgrade", upgrade, "release", n.Spec.Release, "before", before,
		"slot", n.Slot, "reason", n.Reason, "message", n.Message)
}

const (
	// maxFailures is how many failed writes are listed.
	maxFailures = 3
	// maxFailure is the maximum length of each, in bytes.
	maxFailure = 300
)

// noteFailures stores which writes failed, for the policy's next status, and records an
// event if that is new.
func (c *Coordinator) noteFailures(policy *v1alpha1.UpgradePolicy, err error) {
	failing := failures(err)
	if failing == c.failing {
		return
	}
	c.failing = failing
	c.queue.Add(wholeCluster)
	if failing != "" && policy != nil {
		c.record("UpgradePolicy", policy, corev1.EventTypeWarning, string(v1alpha1.ReasonAPIWriteFailed), failing)
	}
}

// failures returns the writes that failed, as text. A conflict is no failure: the next
// plan sees the changed object.
func failures(err error) string {
	var list []string
	for _, one := range each(err) {
		if changedMeanwhile(one) || errors.Is(one, context.Canceled) {
			continue
		}
		text := one.Error()
		if len(text) > maxFailure {
			text = strings.ToValidUTF8(text[:maxFailure], "") + "..."
		}
		list = append(list, text)
	}
	slices.Sort(list)
	list = slices.Compact(list)
	if more := len(list) - maxFailures; more > 0 {
		list = append(list[:maxFailures], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(list, "; ")
}

// changedMeanwhile reports whether a write was refused because the object was changed, or created, since
// it was read.
func changedMeanwhile(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || errors.Is(err, slot.ErrTaken)
}

// each returns the errors that were joined.
func each(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	switch {
	case err == nil:
		return nil
	case !ok:
		return []error{err}
	}
	var all []error
	for _, one := range joined.Unwrap() {
		all = append(all, each(one)...)
	}
	return all
}
