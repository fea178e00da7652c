package plan

import (
	"fmt"
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// What the cluster has run is in the policy's status for clusters that follow it: the version with its
// digests, since when every node runs it, and whether a node failed with it.

const (
	maxRan        = 8   // versions that are kept
	maxRanProblem = 512 // bytes
)

// ran returns the versions that the cluster has run, the newest first. Upgrades of some nodes alone
// do not count. It comes after the upgrades' statuses.
func (p *planner) ran(takenBack []v1alpha1.TakenBackVersion) []v1alpha1.RanVersion {
	policy := p.cluster.reading.snapshot.Policy.DeepCopy()
	if policy == nil {
		return nil
	}
	list := policy.Status.Ran
	policy.Status.TakenBack = takenBack
	if t := p.cluster.target; t.bringsVersion() && p.survey.begun {
		list = bring(list, t, p.cluster)
	}
	for i := range list {
		one := &list[i]
		p.noteEnd(one)
		one.Behind, one.Blocked = 0, ""
		if blocked := policy.Blocked(one.Version); blocked != nil {
			one.Blocked = shorten(blocked.Reason, maxReason)
		}
	}
	if len(list) > 0 && list[0].UntilTime == nil {
		p.noteNodes(&list[0])
	}
	return list
}

// bringsVersion reports whether the upgrade brings a version to every managed node.
func (t *target) bringsVersion() bool {
	return t != nil && !t.forLateNodes && !t.reboot && t.Spec.NodeSelector == nil && t.Status.TriggerTime != nil
}

// bring returns the list with the version that the upgrade brings in front, once a node has begun. Of
// an upgrade that is retried the former entry goes.
func bring(list []v1alpha1.RanVersion, t *target, c *cluster) []v1alpha1.RanVersion {
	if len(list) > 0 && t.isFor(&list[0].Upgrade) {
		return list
	}
	list = slices.DeleteFunc(list, func(r v1alpha1.RanVersion) bool { return r.Version == t.Spec.Version })
	if len(list) > 0 && list[0].UntilTime == nil {
		list[0].UntilTime = wholeSecond(c.now)
	}
	one := v1alpha1.RanVersion{Version: t.Spec.Version, Upgrade: t.Reference(), Digests: v1alpha1.DigestsOf(t.Status.Images)}
	return slices.Insert(list, 0, one)[:min(len(list)+1, maxRan)]
}

// noteEnd notes how the upgrade to the version has ended.
func (p *planner) noteEnd(one *v1alpha1.RanVersion) {
	u := upgradeNamed(p.cluster.reading.snapshot.Upgrades, one.Upgrade.Name)
	if t := p.cluster.target; t.isFor(&one.Upgrade) {
		u = t.ClusterUpgrade // it may end now
	}
	switch {
	case u == nil || string(u.UID) != one.Upgrade.UID || one.SinceTime != nil:
	case u.Status.Outcome == v1alpha1.OutcomeSucceeded:
		one.SinceTime = u.Status.CompletionTime
	case u.Status.Outcome != "" && one.Problem == "":
		one.Problem = shorten(fmt.Sprintf("upgrade %s ended: %s", u.Name, u.Status.Outcome), maxRanProblem)
	}
}

// noteNodes notes a node that failed with the newest version, and how many do not run it.
func (p *planner) noteNodes(one *v1alpha1.RanVersion) {
	to := parsed(one.Version)
	for _, n := range p.cluster.nodes {
		if n.eligible() && !n.status.LacksImage() && !atLeast(*n.runs.kubelet, to) {
			one.Behind++
		}
		switch {
		case one.Problem != "":
		case n.failed() && n.status.Upgrade != nil && n.status.Upgrade.UID == one.Upgrade.UID:
			one.Problem = shorten(failure(n).Message, maxRanProblem)
		case p.cluster.relapsed(n):
			one.Problem = shorten(n.lostHold().Message, maxRanProblem)
		}
	}
}
