package record

import "github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"

// What may begin on a node.
const (
	Kubeadm = "kubeadm"
	Cordon  = "cordon"
	Flip    = "flip" // the last check is passed
	Reboot  = "reboot"
)

// Beginning is the moment at which something began that disturbs a node.
type Beginning struct {
	Moment
	Node, What string
	// Type of the node's upgrade. Empty: it is not known.
	Type v1alpha1.UpgradeType
}

// begins maps a step to what a node begins with it.
var begins = map[v1alpha1.Step]string{v1alpha1.StepKubeadmAhead: Kubeadm, v1alpha1.StepKubeadm: Kubeadm, v1alpha1.StepActivating: Flip}

// Beginnings returns all of them, in order. The first version of a node is not a
// beginning.
func Beginnings(moments []Moment) ([]Beginning, error) {
	var all []Beginning
	nodes, steps := map[string]Node{}, map[string]v1alpha1.Step{}
	err := Walk(moments, func(m Moment, s State) {
		name := m.Object.GetName()
		switch m.Resource {
		case "nodes":
			before, known := nodes[name]
			now := s.Nodes[name]
			nodes[name] = now
			if known && now.OurCordon && !before.OurCordon {
				all = append(all, Beginning{m, name, Cordon, s.Types[name]})
			}
			if known && now.BootID != before.BootID && !m.Deleted {
				all = append(all, Beginning{m, name, Reboot, s.Types[name]})
			}
		case v1alpha1.NodeUpgrades.Resource:
			before, now := steps[name], s.Steps[name]
			steps[name] = now
			what := begins[now]
			if now == v1alpha1.StepRebooting && before.Info().Phase == v1alpha1.PhaseRevocable {
				what = Flip // a Reboot activates nothing
			}
			if what != "" && now != before {
				all = append(all, Beginning{m, name, what, s.Types[name]})
			}
		}
	})
	return all, err
}
