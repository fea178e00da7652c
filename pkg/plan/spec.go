package plan

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
		Returned: n.returned(), Owner: n.Owner(), Spec: n.wanted(d),
	}
	if d.target != nil {
		p.To = d.target.Spec.Version
	}
	return p
}

// wanted is what the NodeUpgrade should say. Nothing but the release changes
// under the feet of a node that has begun; one that failed may be asked for
// something else, and gives up when it is.
func (n *node) wanted(d *decider) v1alpha1.NodeUpgradeSpec {
	var spec v1alpha1.NodeUpgradeSpec
	switch {
	case (!n.failed() || d.forTarget(n)) && (n.busy() || n.released() && !d.forTarget(n)):
		spec = *n.spec.DeepCopy()
	case d.target != nil && d.wholly.Reason == "" && n.counts():
		spec = v1alpha1.NodeUpgradeSpec{
			Upgrade: d.target.Name,
			Type:    kindFor(d.target, n.runs.kubelet),
			Version: d.target.Spec.Version,
			Image:   imageFor(d.target.Status.Images, n.Architecture),
			Settle:  d.strategy.Settle,
			Drain:   d.strategy.Drain,
			Method:  d.strategy.Method,
			Kubeadm: n.kubeadm,

			EtcdSnapshot: n == d.saver,
		}
		if n.release != v1alpha1.ReleaseNone {
			spec.ExpectedDuration = &metav1.Duration{Duration: d.needs(n)}
		}
	}
	if spec.Release = n.release; spec.Release == v1alpha1.ReleaseNone {
		spec.ExpectedDuration = nil
	}
	return complete(spec, n.hold)
}

// complete fills in what the API server would, and the reason.
func complete(spec v1alpha1.NodeUpgradeSpec, hold Hold) v1alpha1.NodeUpgradeSpec {
	if spec.Release == "" {
		spec.Release = v1alpha1.ReleaseNone
	}
	if spec.Kubeadm == "" {
		spec.Kubeadm = v1alpha1.KubeadmNode
	}
	if spec.Method == "" {
		spec.Method = v1alpha1.MethodReboot
	}
	spec.Drain = drainDefaults(spec.Drain)
	spec.Reason, spec.Message, spec.Until = hold.Reason, clip(hold.Message), nil
	if hold.Until != nil {
		spec.Until = wholeSecond(*hold.Until)
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
