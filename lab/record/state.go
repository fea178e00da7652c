package record

import (
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Node is what matters of a Node at one moment.
type Node struct {
	Name         string
	Cordoned     bool
	OurCordon    bool // bears the mark that says the cordon is the agent's
	Ready        bool
	BootID       string
	Kubelet      string
	ControlPlane bool
}

// State is the cluster at one moment.
type State struct {
	Nodes   map[string]Node
	Holders map[string]string // slot's name to the name of the node that holds it; only held slots
}

// Walk calls visit after each change of a Node or a slot, with the state as it
// then was, from the first moment to the last.
func Walk(moments []Moment, visit func(Moment, State)) error {
	state := State{Nodes: map[string]Node{}, Holders: map[string]string{}}
	for _, m := range moments {
		switch m.Resource {
		case "nodes":
			var node corev1.Node
			if err := Convert(m, &node); err != nil {
				return err
			}
			if delete(state.Nodes, node.Name); !m.Deleted {
				state.Nodes[node.Name] = view(&node)
			}
		case "leases":
			var lease coordinationv1.Lease
			if err := Convert(m, &lease); err != nil {
				return err
			}
			if lease.Labels[v1alpha1.SlotLabel] == "" {
				continue
			}
			delete(state.Holders, lease.Name)
			if holder, _, held := strings.Cut(ptr.Deref(lease.Spec.HolderIdentity, ""), "/"); held && !m.Deleted {
				state.Holders[lease.Name] = holder
			}
		default:
			continue
		}
		visit(m, state)
	}
	return nil
}

// Convert reads a moment's object into a typed one.
func Convert(m Moment, into any) error {
	return runtime.DefaultUnstructuredConverter.FromUnstructured(m.Object.Object, into)
}

func view(node *corev1.Node) Node {
	v := Node{
		Name:      node.Name,
		Cordoned:  node.Spec.Unschedulable,
		OurCordon: node.Annotations[v1alpha1.CordonAnnotation] != "",
		BootID:    node.Status.NodeInfo.BootID,
		Kubelet:   node.Status.NodeInfo.KubeletVersion,
	}
	_, v.ControlPlane = node.Labels["node-role.kubernetes.io/control-plane"]
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			v.Ready = condition.Status == corev1.ConditionTrue
		}
	}
	return v
}

// Holds says whether a node holds a slot.
func (s State) Holds(node string) bool {
	for _, holder := range s.Holders {
		if holder == node {
			return true
		}
	}
	return false
}
