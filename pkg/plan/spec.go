package plan

import (
	"strings"

	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// maxMessage is the API's limit on a message.
const maxMessage = 1024

// plan writes down what was decided.
func (n *node) plan(d *decider) NodePlan {
	p := NodePlan{
		Name: n.Name, Group: d.groups[n.group].name, From: n.Kubelet,
		Decision: n.decision, Reason: n.hold.Reason, Message: clip(n.hold.Message), Until: n.hold.Until,
		Release: n.release, Kubeadm: n.kubeadm, Slot: n.reserve,
		Returned: n.returned(), Managed: n.managed, Owner: n.Owner(), Spec: n.wanted(d),
	}
	if d.target != nil {
		p.To = d.target.Spec.Version
	}
	return p
}

// wanted is the order that the node should have: none where nothing is asked for,
// or where it follows an upgrade that is over and has reached it. Nothing but the release changes
// under the feet of a node that has begun; one that failed may be asked for
// something else, and gives up when it is.
func (n *node) wanted(d *decider) v1alpha1.NodeUpgradeSpec {
	var spec v1alpha1.NodeUpgradeSpec
	switch {
	case (!n.failed() || d.forTarget(n)) && (n.busy() || n.released() && !d.forTarget(n)):
		spec = *n.spec.DeepCopy()
	case d.target != nil && d.wholly.Reason == "" && n.counts() && !(d.converging && n.asWanted(d.to)):
		spec = v1alpha1.NodeUpgradeSpec{
			Upgrade: ptr.To(d.target.Reference()),
			Type:    kindFor(d.target, n.runs.kubelet),
			Version: d.target.Spec.Version,
			Image:   imageFor(d.target.Status.Images, n.Architecture),
			Method:  d.strategy.Method,
			Pace:    *d.groups[n.group].pace.DeepCopy(),
			Kubeadm: n.kubeadm,

			EtcdSnapshot: n == d.saver,
		}
		if n.release != v1alpha1.ReleaseNone {
			spec.ExpectedSeconds = ptr.To(int32(d.needs(n).Seconds()))
		}
	}
	if spec.Upgrade == nil && !n.release.Lets() {
		return spec
	}
	if spec.Release = n.release; !spec.Release.Lets() {
		spec.ExpectedSeconds = nil
	}
	return spec
}

func imageFor(images []v1alpha1.Image, architecture string) *v1alpha1.Image {
	for _, image := range images {
		if image.Architecture == architecture {
			return &image
		}
	}
	return nil
}

// clip keeps a message within the API's limit.
func clip(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage-3], "") + "..."
}
