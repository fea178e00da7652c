package plan

import (
	"strings"

	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// maxMessage is the API's limit on a message.
const maxMessage = 1024

// nodePlan returns the plan for the node.
func (s *survey) nodePlan(n *node, v verdict) NodePlan {
	p := NodePlan{
		Name: n.Name, Group: s.cluster.groups[n.group].name, From: n.Kubelet,
		Decision: v.decision, Reason: v.hold.Reason, Message: clip(v.hold.Message), Until: v.hold.Until,
		Release: v.release, Kubeadm: v.kubeadm, Slot: v.slot,
		Returned: n.returned(), Managed: s.cluster.manages(n), HasAgent: n.facts != nil, Owner: n.Owner(), Spec: s.newSpec(n, v),
	}
	p.Spec.Managed = p.Managed
	if s.cluster.target != nil {
		p.To = s.cluster.target.Spec.Version
	}
	return p
}

// manages reports whether the node may be changed. Without a policy that stays as it was
// ordered last.
func (c *cluster) manages(n *node) bool {
	if c.reading.policyHold.Reason == v1alpha1.ReasonPolicyMissing {
		return n.spec.Managed
	}
	return n.managed && c.reading.policyHold.Reason != v1alpha1.ReasonObserved
}

// newSpec returns the NodeUpgrade.spec to write, but for its field managed. It is empty if
// there is no upgrade that can be triggered and concerns the node, or if that upgrade has
// ended and the node is up to date. For a node that has begun, only the release changes. A
// failed node may get a spec for another upgrade, or an empty one if it is no longer
// managed, and then aborts its attempt.
func (s *survey) newSpec(n *node, v verdict) v1alpha1.NodeUpgradeSpec {
	var spec v1alpha1.NodeUpgradeSpec
	switch {
	case n.failed() && !s.cluster.manages(n):
	case (!n.failed() || s.cluster.specIsForTarget(n)) && (n.busy() || n.released() && !s.cluster.specIsForTarget(n)):
		spec = *n.spec.DeepCopy()
	case s.cluster.target == nil || s.cluster.target.hold.Holds() || !n.concerned || s.cluster.target.forLateNodes && n.upToDate:
	default:
		spec = s.startSpec(n, v)
	}
	if spec.Upgrade == nil && !v.release.Granted() {
		return spec
	}
	if spec.Release = v.release; !spec.Release.Granted() {
		spec.ExpectedSeconds = nil
	}
	return spec
}

// startSpec returns the NodeUpgrade.spec of a node that has not begun.
func (s *survey) startSpec(n *node, v verdict) v1alpha1.NodeUpgradeSpec {
	spec := v1alpha1.NodeUpgradeSpec{
		Upgrade: ptr.To(s.cluster.target.Reference()),
		Type:    s.cluster.target.typeFor(n),
		Version: s.cluster.target.Spec.Version,
		Image:   imageFor(s.cluster.target.Status.Images, n.Architecture),
		Method:  s.cluster.target.strategy.Method,
		Pace:    s.cluster.groups[n.group].pace,
		Kubeadm: v.kubeadm,

		EtcdSnapshot: n == s.snapshotNode,
		HoldAfter:    s.cluster.target.back && s.cluster.target.Spec.NodeSelector != nil,
	}
	if v.release.Granted() {
		spec.Slot = v.slot
		spec.ExpectedSeconds = ptr.To(int32(s.expectedDuration(n).Seconds()))
	}
	return spec
}

func imageFor(images []v1alpha1.Image, architecture string) *v1alpha1.Image {
	for i := range images {
		if images[i].Architecture == architecture {
			return &images[i]
		}
	}
	return nil
}

// clip shortens a message to the API's limit.
func clip(message string) string { return shorten(message, maxMessage) }

func shorten(message string, limit int) string {
	if len(message) <= limit {
		return message
	}
	return strings.ToValidUTF8(message[:limit-3], "") + "..."
}
