package view

import (
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// Progress returns the upgrade with its nodes, in the order in which they go in the
// expected plan.
func Progress(o Objects, u *v1alpha1.ClusterUpgrade, expected plan.Plan) render.Progress {
	p := render.Progress{Upgrade: *Upgrade(u), PredictedEnd: expected.PredictedEnd}
	place := map[string]int{}
	starts := map[string]*time.Time{}
	for i, n := range expected.Nodes {
		place[n.Name], starts[n.Name] = i, n.PredictedStart
	}
	nodeUpgrades := o.nodeUpgrade()
	isSelected, labels := Selects(u.Spec.NodeSelector), map[string]map[string]string{}
	for i := range o.Nodes {
		labels[o.Nodes[i].Name] = o.Nodes[i].Labels
	}
	nodes, _ := Nodes(o)
	for _, node := range nodes {
		if o.Nodes != nil && !isSelected(labels[node.Name]) {
			continue
		}
		one := render.NodeProgress{Node: node, PredictedStart: starts[node.Name]}
		if nodeUpgrade := nodeUpgrades[node.Name]; nodeUpgrade != nil {
			one.Passes, one.PassesDone = passes(nodeUpgrade.Status.Versions, u)
			correctOther(&one, nodeUpgrade, u)
		}
		p.Nodes = append(p.Nodes, one)
	}
	slices.SortStableFunc(p.Nodes, func(a, b render.NodeProgress) int { return place[a.Name] - place[b.Name] })
	return p
}

// passes returns how often a node with these versions has to take a slot for u,
// and how often it is done with that before its last.
func passes(have v1alpha1.NodeVersions, u *v1alpha1.ClusterUpgrade) (all, done int) {
	switch {
	case have.ControlPlane == "" || u.Spec.Version == "":
		return 1, 0
	case reached(have.Kubeadm, u.Spec.Version):
		return 2, 1
	}
	return 2, 0
}

// reached reports whether a version is the other one, or a later one.
func reached(have, want string) bool {
	a, err := version.Parse(have)
	if err != nil {
		return false
	}
	b, err := version.Parse(want)
	return err == nil && !a.Less(b)
}

// correctOther corrects what a node shows whose agent has not begun with the upgrade:
// steps for another one do not count, and an idle node need not be done.
func correctOther(one *render.NodeProgress, nodeUpgrade *v1alpha1.NodeUpgrade, u *v1alpha1.ClusterUpgrade) {
	if !isFor(nodeUpgrade.Status.Upgrade, u) {
		one.Steps = nil
	}
	if one.State != render.StateDone || u.Status.Outcome != "" {
		return
	}
	ordered := isFor(nodeUpgrade.Spec.Upgrade, u)
	upToDate := ordered
	if u.Spec.Version != "" {
		upToDate = reached(nodeUpgrade.Status.Versions.Kubelet, u.Spec.Version) && one.PassesDone == one.Passes-1
	}
	if upToDate {
		return
	}
	one.State, one.Reason, one.Message, one.Until = render.StateWaiting, "", "", nil
	if ordered {
		one.Reason, one.Message = nodeUpgrade.Status.Hold()
		one.Until = instant(nodeUpgrade.Status.HoldEndTime)
	}
}

// isFor reports whether the reference is to that very upgrade, and not to another one
// of its name.
func isFor(reference *v1alpha1.UpgradeReference, u *v1alpha1.ClusterUpgrade) bool {
	return reference != nil && reference.UID == string(u.UID)
}
