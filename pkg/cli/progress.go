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
	for _, node := range viewNodes(o) {
		one := render.NodeProgress{Node: node, PredictedStart: starts[node.Name]}
		if word := words[node.Name]; word != nil {
			one.ControlPlane = word.Status.ControlPlaneVersion != ""
			one.ComponentsDone = one.ControlPlane && reached(word.Status.KubeadmVersion, u.Spec.Version)
			catchUp(&one, word, u)
		}
		p.Nodes = append(p.Nodes, one)
	}
	slices.SortStableFunc(p.Nodes, func(a, b render.NodeProgress) int { return place[a.Name] - place[b.Name] })
	return p
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
	if word.Status.Upgrade != u.Name {
		one.Steps = nil
	}
	if one.State != render.StateDone || u.Status.Outcome != "" {
		return
	}
	asWanted := word.Spec.Upgrade == u.Name
	if u.Spec.Version != "" {
		asWanted = reached(word.Status.KubeletVersion, u.Spec.Version) && (!one.ControlPlane || one.ComponentsDone)
	}
	if asWanted {
		return
	}
	one.State, one.Reason, one.Message, one.Until = render.StateWaiting, "", "", nil
	if word.Spec.Upgrade == u.Name {
		one.Reason, one.Message, one.Until = word.Spec.Reason, word.Spec.Message, instant(word.Spec.Until)
	}
}
