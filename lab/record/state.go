package record

import (
	"fmt"
	"slices"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Node is the state of a Node at one moment.
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
	Nodes     map[string]Node
	Holders   map[string]string // slot's name to the name of the node that holds it; only held slots
	Steps     map[string]v1alpha1.Step
	Releases  map[string]v1alpha1.Release
	Types     map[string]v1alpha1.UpgradeType // of each node's upgrade
	Schedules map[string]v1alpha1.MaintenanceSchedule
}

// Walk calls visit after each change of a Node, a slot, a NodeUpgrade or a
// MaintenanceSchedule, with the state at that moment, from the first to the
// last.
func Walk(moments []Moment, visit func(Moment, State)) error {
	state := State{
		Nodes: map[string]Node{}, Holders: map[string]string{},
		Steps: map[string]v1alpha1.Step{}, Releases: map[string]v1alpha1.Release{}, Types: map[string]v1alpha1.UpgradeType{},
		Schedules: map[string]v1alpha1.MaintenanceSchedule{},
	}
	for _, m := range moments {
		matters, err := state.take(m)
		if err != nil {
			return fmt.Errorf("reading revision %d of %s %s: %w", m.Revision, m.Resource, m.Object.GetName(), err)
		}
		if matters {
			visit(m, state)
		}
	}
	return nil
}

// take brings the state up to a moment, and says whether it has to do with it.
func (s State) take(m Moment) (matters bool, err error) {
	name := m.Object.GetName()
	switch m.Resource {
	case "nodes":
		var node corev1.Node
		err = Convert(m, &node)
		put(s.Nodes, name, NodeOf(&node), m.Deleted)
	case "leases":
		if m.Object.GetLabels()[v1alpha1.SlotLabel] == "" {
			return false, nil
		}
		var lease coordinationv1.Lease
		err = Convert(m, &lease)
		holder, _, held := strings.Cut(ptr.Deref(lease.Spec.HolderIdentity, ""), "/")
		put(s.Holders, name, holder, m.Deleted || !held)
	case v1alpha1.NodeUpgrades.Resource:
		var upgrade v1alpha1.NodeUpgrade
		err = Convert(m, &upgrade)
		put(s.Steps, name, upgrade.Status.Step, m.Deleted)
		put(s.Releases, name, upgrade.Spec.Release, m.Deleted)
		put(s.Types, name, upgrade.Spec.Type, m.Deleted)
	case v1alpha1.MaintenanceSchedules.Resource:
		var schedule v1alpha1.MaintenanceSchedule
		err = Convert(m, &schedule)
		put(s.Schedules, name, schedule, m.Deleted)
	default:
		return false, nil
	}
	return true, err
}

func put[V any](into map[string]V, name string, value V, gone bool) {
	if delete(into, name); !gone {
		into[name] = value
	}
}

// Convert reads a moment's object into a typed one.
func Convert(m Moment, into any) error {
	return runtime.DefaultUnstructuredConverter.FromUnstructured(m.Object.Object, into)
}

// NodeOf returns the state of a Node.
func NodeOf(node *corev1.Node) Node {
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

// Holds reports whether a node holds a slot.
func (s State) Holds(node string) bool {
	for _, holder := range s.Holders {
		if holder == node {
			return true
		}
	}
	return false
}

// Down returns the nodes that are out of service, by name. A node in foreign was
// cordoned by another client, so only its readiness counts.
func (s State) Down(foreign ...string) []string {
	var down []string
	for name, node := range s.Nodes {
		if node.down(foreign) {
			down = append(down, name)
		}
	}
	slices.Sort(down)
	return down
}

// down reports whether a node is out of service, not counting a cordon that
// another client is known to have set.
func (n Node) down(foreign []string) bool {
	cordoned := n.Cordoned && (n.OurCordon || !slices.Contains(foreign, n.Name))
	return cordoned || !n.Ready
}
