package migrate

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Placement is on which nodes a DaemonSet runs.
type Placement struct {
	NodeSelector map[string]string
	Affinity     bool
	// ControlPlane reports whether it tolerates the taint of control-plane nodes.
	ControlPlane bool
}

func (r *Result) placement(p Placement) {
	nodes := maps.Clone(p.NodeSelector)
	if nodes["kubernetes.io/os"] == "linux" { // no agent runs on others
		delete(nodes, "kubernetes.io/os")
	}
	if len(nodes) > 0 {
		selector := &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{}}
		for key, value := range nodes {
			selector.MatchLabels[key] = v1alpha1.LabelValue(value)
		}
		r.Policy.NodeSelector = selector
		r.Rows = append(r.Rows, Row{
			Setting: "nodeSelector of the pods", Value: metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: nodes}), Set: true,
			Becomes: "nodeSelector of the UpgradePolicy",
		})
	}
	if p.Affinity {
		r.Rows = append(r.Rows, Row{Setting: "affinity of the pods", Set: true, Meaning: None, Note: "write the nodeSelector of the UpgradePolicy by hand"})
	}
	if !p.ControlPlane {
		r.Rows = append(r.Rows, Row{
			Setting: "tolerations of the pods", Value: "not of control-plane nodes", Set: true, Meaning: None,
			Note: "control-plane nodes are managed like the others; the label kubectl-upgrade.dev/hold on a Node keeps it out",
		})
	}
}
