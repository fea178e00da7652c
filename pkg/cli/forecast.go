package cli

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/snapshot"
)

// forecaster says when the nodes of an upgrade are expected to go, from our own
// objects and Nodes alone: all who may see the upgrade see the same. Slots and
// apiservers are as the nodes' agents tell; what they do not tell is taken to
// hold no node up.
type forecaster struct {
	// records say how long nodes took before.
	records []v1alpha1.UpgradeRecord

	plan  plan.Plan
	of    string
	at    time.Time
	stale bool
}

// How old a forecast may get: of a large cluster, one takes a while.
const (
	oldForecast   = 5 * time.Second
	youngForecast = time.Second
)

// look is the plan for the upgrade with that name. It is empty where another one
// is the active one.
func (f *forecaster) look(o objects, name string, changed bool, now time.Time) plan.Plan {
	f.stale = f.stale || changed
	age := now.Sub(f.at)
	if f.of != name || age < 0 || age >= oldForecast || f.stale && age >= youngForecast {
		f.plan, f.of, f.at, f.stale = forecast(o, f.records, name, now), name, now, false
	}
	return f.plan
}

func forecast(o objects, records []v1alpha1.UpgradeRecord, name string, now time.Time) plan.Plan {
	u := o.upgrade(name)
	if u == nil || u.Status.Outcome != "" {
		return plan.Plan{}
	}
	s := fleet.Snapshot{Upgrades: o.upgrades, NodeUpgrades: o.nodeUpgrades, Schedules: o.schedules, Policy: o.policy(), Records: records}
	if u.Status.PreflightTime != nil {
		s.Preflight = &fleet.Preflight{Upgrade: u.Reference(), At: u.Status.PreflightTime.Time, Findings: u.Status.Findings}
	}
	for _, image := range u.Status.Images {
		s.Source.Offers = append(s.Source.Offers, fleet.Offer{Version: u.Spec.Version, Image: image})
	}
	words := map[string]*v1alpha1.NodeUpgrade{}
	for i := range o.nodeUpgrades {
		words[o.nodeUpgrades[i].Name] = &o.nodeUpgrades[i]
	}
	for _, n := range nodesOf(o) {
		s.Nodes = append(s.Nodes, n)
		word := words[n.Name]
		if word == nil {
			continue
		}
		if n.ControlPlane {
			s.APIServers = append(s.APIServers, fleet.StaticPod{Node: n.Name, Version: word.Status.Versions.ControlPlane, Ready: n.Ready})
		}
		if slot := word.Status.Slot; slot != "" {
			s.Slots = append(s.Slots, fleet.Slot{Name: slot, ReservedFor: n.Owner(), Holder: n.Owner()})
		}
	}
	if p := plan.Predict(s, now); p.Upgrade == name {
		return p
	}
	return plan.Plan{}
}

// nodesOf are the Nodes, or where they may not be read what agents say of them.
func nodesOf(o objects) []fleet.Node {
	var nodes []fleet.Node
	for i := range o.nodes {
		nodes = append(nodes, snapshot.Node(&o.nodes[i]))
	}
	if o.nodes != nil {
		return nodes
	}
	for _, u := range o.nodeUpgrades {
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
