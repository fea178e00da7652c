package view

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/snapshot"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// Objects are the objects of a cluster that people follow an upgrade by. Policies and
// Nodes are nil where the user may not read them.
type Objects struct {
	Upgrades     []v1alpha1.ClusterUpgrade
	NodeUpgrades []v1alpha1.NodeUpgrade
	Schedules    []v1alpha1.MaintenanceSchedule
	Policies     []v1alpha1.UpgradePolicy
	Nodes        []corev1.Node
	Programs     Programs
}

// Upgrade returns the ClusterUpgrade with that name. Nil: there is none.
func (o Objects) Upgrade(name string) *v1alpha1.ClusterUpgrade {
	for i := range o.Upgrades {
		if o.Upgrades[i].Name == name {
			return &o.Upgrades[i]
		}
	}
	return nil
}

// policy returns the UpgradePolicy that counts. Nil: there is none, or it may not be
// read.
func (o Objects) policy() *v1alpha1.UpgradePolicy {
	for i := range o.Policies {
		if o.Policies[i].Name == v1alpha1.PolicyName {
			return &o.Policies[i]
		}
	}
	return nil
}

// managed returns a function that reports whether the policy matches a Node's labels.
func (o Objects) managed() func(map[string]string) bool {
	if policy := o.policy(); policy != nil {
		return Selects(policy.Spec.NodeSelector)
	}
	return Selects(nil)
}

// nodeUpgrade returns the NodeUpgrades by their names.
func (o Objects) nodeUpgrade() map[string]*v1alpha1.NodeUpgrade {
	byName := make(map[string]*v1alpha1.NodeUpgrade, len(o.NodeUpgrades))
	for i := range o.NodeUpgrades {
		byName[o.NodeUpgrades[i].Name] = &o.NodeUpgrades[i]
	}
	return byName
}

// Snapshot returns what the objects tell the planner. Slots and apiservers are as the
// nodes' agents report them; what they do not report holds no node up. No image is on
// offer but those of triggered upgrades.
func (o Objects) Snapshot() fleet.Snapshot {
	s := fleet.Snapshot{Upgrades: o.Upgrades, NodeUpgrades: o.NodeUpgrades, Schedules: o.Schedules, Policy: o.policy(), Nodes: o.FleetNodes()}
	if o.Policies == nil { // the coordinator follows one that this user may not read
		s.Policy = &v1alpha1.UpgradePolicy{Spec: v1alpha1.UpgradePolicySpec{Mode: v1alpha1.ModeManage}}
	}
	for _, u := range o.Upgrades {
		for _, image := range u.Status.Images {
			s.Source.Offers = append(s.Source.Offers, fleet.Offer{Version: u.Spec.Version, Image: image})
		}
	}
	nodeUpgrades := o.nodeUpgrade()
	for _, n := range s.Nodes {
		u := nodeUpgrades[n.Name]
		if u == nil {
			continue
		}
		if n.ControlPlane {
			s.APIServers = append(s.APIServers, fleet.StaticPod{Node: n.Name, Version: u.Status.Versions.ControlPlane, Ready: n.Ready})
		}
		if slot := u.Status.Slot; slot != "" {
			s.Slots = append(s.Slots, fleet.Slot{Name: slot, ReservedFor: n.Owner(), Holder: n.Owner()})
		}
	}
	return s
}

// FleetNodes returns the Nodes, or where they may not be read what agents report of
// them.
func (o Objects) FleetNodes() []fleet.Node {
	var nodes []fleet.Node
	for i := range o.Nodes {
		nodes = append(nodes, snapshot.Node(&o.Nodes[i]))
	}
	if o.Nodes != nil {
		return nodes
	}
	for _, u := range o.NodeUpgrades {
		node := fleet.Node{
			Name: u.Name, UID: ownerUID(u), OS: "linux", Ready: true,
			Kubelet: u.Status.Versions.Kubelet, ControlPlane: u.Status.Versions.ControlPlane != "",
		}
		if image := u.Spec.Image; image != nil {
			node.Architecture = image.Architecture
		}
		nodes = append(nodes, node)
	}
	return nodes
}

func ownerUID(u v1alpha1.NodeUpgrade) string {
	if owner := metav1.GetControllerOfNoCopy(&u); owner != nil {
		return string(owner.UID)
	}
	for _, ref := range u.OwnerReferences {
		if ref.Kind == "Node" {
			return string(ref.UID)
		}
	}
	return ""
}

// Selects returns a function that reports whether the selector matches labels. Nil
// matches everything, and a selector that Kubernetes does not accept nothing.
func Selects(s *v1alpha1.LabelSelector) func(map[string]string) bool {
	if s == nil {
		return func(map[string]string) bool { return true }
	}
	selector, err := s.AsSelector()
	return func(of map[string]string) bool { return err == nil && selector.Matches(labels.Set(of)) }
}

// selectorText returns the selector in the form of kubectl's -l. Empty: there is none.
func selectorText(s *v1alpha1.LabelSelector) string {
	if s == nil {
		return ""
	}
	selector, err := s.AsSelector()
	if err != nil {
		return err.Error()
	}
	return selector.String()
}
