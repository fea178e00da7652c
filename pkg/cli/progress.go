package cli

import (
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/render"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// viewProgress is the upgrade with its nodes, in the order in which the forecast
// has them go.
func viewProgress(o objects, u *v1alpha1.ClusterUpgrade, expected plan.Plan) *render.Progress {
	p := &render.Progress{Upgrade: *viewUpgrade(u), PredictedEnd: expected.PredictedEnd}
	place := map[string]int{}
	starts := map[string]*time.Time{}
	for i, n := range expected.Nodes {
		place[n.Name], starts[n.Name] = i, n.PredictedStart
	}
	words := map[string]*v1alpha1.NodeUpgrade{}
	for i := range o.nodeUpgrades {
		words[o.nodeUpgrades[i].Name] = &o.nodeUpgrades[i]
	}
	isSelected, labels := selects(u.Spec.NodeSelector), map[string]map[string]string{}
	for i := range o.nodes {
		labels[o.nodes[i].Name] = o.nodes[i].Labels
	}
	nodes, _ := viewNodes(o)
	for _, node := range nodes {
		if o.nodes != nil && !isSelected(labels[node.Name]) {
			continue
		}
		one := render.NodeProgress{Node: node, PredictedStart: starts[node.Name]}
		if word := words[node.Name]; word != nil {
			one.Passes, one.PassesDone = passes(word.Status.Versions, u)
			catchUp(&one, word, u)
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

func reached(have, want string) bool {
	a, err := version.Parse(have)
	if err != nil {
		return false
	}
	b, err := version.Parse(want)
	return err == nil && !a.Less(b)
}

// catchUp is for a node whose agent has not come to the upgrade yet: what it did
// for another one does not count, and that it rests does not mean that it is
// done.
func catchUp(one *render.NodeProgress, word *v1alpha1.NodeUpgrade, u *v1alpha1.ClusterUpgrade) {
	if !isFor(word.Status.Upgrade, u) {
		one.Steps = nil
	}
	if one.State != render.StateDone || u.Status.Outcome != "" {
		return
	}
	ordered := isFor(word.Spec.Upgrade, u)
	asWanted := ordered
	if u.Spec.Version != "" {
		asWanted = reached(word.Status.Versions.Kubelet, u.Spec.Version) && one.PassesDone == one.Passes-1
	}
	if asWanted {
		return
	}
	one.State, one.Reason, one.Message, one.Until = render.StateWaiting, "", "", nil
	if ordered {
		one.Reason, one.Message = word.Status.Hold()
		one.Until = instant(word.Status.HoldEndTime)
	}
}

// isFor reports whether it is that very upgrade, and not one of the same name.
func isFor(reference *v1alpha1.UpgradeReference, u *v1alpha1.ClusterUpgrade) bool {
	return reference != nil && reference.UID == string(u.UID)
}
