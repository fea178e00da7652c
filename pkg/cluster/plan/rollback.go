package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/image"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// A Rollback returns kubelets to a former patch of their minor. It goes before every other upgrade,
// and ends those that were requested before it and bring what it takes back. Nothing automatic brings
// these versions again until a person requests one of them once more.

// isTakenBack reports whether nodes that run v are taken back to the Rollback's version.
func (t *target) isTakenBack(v version.Version) bool {
	return t.back && known(t.to) && t.to.SameLine(v) && t.to.Less(v)
}

// mayFollow reports whether t may bring the whole cluster on from v: to the same or a later version, or back.
// An older upgrade may end after a newer one.
func (t *target) mayFollow(v version.Version) bool { return !t.to.Less(v) || t.isTakenBack(v) }

// takenBackBy returns the unfinished Rollback that takes back what t brings, unless people hold it.
// Nil: there is none.
func (r *reading) takenBackBy(t *target) *v1alpha1.ClusterUpgrade {
	for i := range r.snapshot.Upgrades {
		u := &r.snapshot.Upgrades[i]
		if rules.TypeOf(u) != v1alpha1.TypeRollback || u.Status.Outcome != "" || u.DeletionTimestamp != nil || u.CreationTimestamp.Before(&t.CreationTimestamp) {
			continue
		}
		back := target{back: true, to: parsed(u.Spec.Version)}
		if !t.back && back.isTakenBack(t.to) && !rules.Upgrade(u, r.now).Holds() {
			return u
		}
	}
	return nil
}

// takenBackHold is the hold of an upgrade whose version is being taken back.
func takenBackHold(by *v1alpha1.ClusterUpgrade, version string) clusterstate.Hold {
	return clusterstate.Hold{Reason: v1alpha1.ReasonSuperseded, Message: fmt.Sprintf("upgrade %s takes %s back", by.Name, version)}
}

// peopleHold returns the hold that people put on the whole upgrade: by its own fields, or as they
// take its version back.
func (t *target) peopleHold(now time.Time) clusterstate.Hold {
	if t.takenBackBy != nil {
		return takenBackHold(t.takenBackBy, t.Spec.Version)
	}
	return rules.Upgrade(t.ClusterUpgrade, now)
}

// replacedBy returns the later upgrade in whose favor t ends before it is done. Nil: there is none.
// One that is taken back ends once no node is at work for it any more.
func (r *reading) replacedBy(t *target) *v1alpha1.ClusterUpgrade {
	atWork := func(n *node) bool { return (n.busy() || n.released()) && t.isFor(n.spec.Upgrade) }
	if t.takenBackBy != nil && !slices.ContainsFunc(r.nodes, atWork) {
		return t.takenBackBy
	}
	return r.supersedes(t)
}

// nothingToTakeBack holds a Rollback that no node needs: its version may be a slip.
func nothingToTakeBack(r *reading, t *target) clusterstate.Hold {
	if !t.back || slices.ContainsFunc(r.nodes, func(n *node) bool { return t.concerns(n) && t.isTakenBack(*n.runs.kubelet) }) {
		return clusterstate.Hold{}
	}
	message := fmt.Sprintf("no node that it selects runs a newer patch of %s than %s, so that there is nothing to take back", t.to.Line(), t.to)
	return clusterstate.Hold{Reason: v1alpha1.ReasonUpgradeInvalid, Message: message, Stays: true}
}

// newestTaken returns the newest version that the Rollback takes nodes back from.
func (r *reading) newestTaken(t *target) (from string) {
	var newest version.Version
	for _, n := range r.nodes {
		if runs := *n.runs.kubelet; t.concerns(n) && t.isTakenBack(runs) && newest.Less(runs) {
			newest, from = runs, runs.String()
		}
	}
	return from
}

// formerImages returns the images to take nodes back to: with the digests that the cluster has run,
// where they are known, whatever the source offers now.
func (r *reading) formerImages(t *target, offered []v1alpha1.Image) []v1alpha1.Image {
	for _, ran := range r.ranDigests(t.Spec.Version) {
		i := slices.IndexFunc(offered, func(o v1alpha1.Image) bool { return o.Architecture == ran.Architecture })
		if i < 0 {
			i, offered = len(offered), append(offered, v1alpha1.Image{
				Architecture: ran.Architecture, URL: r.policySpec().Source.URL + image.Name(t.Spec.Version, string(ran.Architecture)),
			})
		}
		offered[i].Digest = ran.Digest
	}
	return offered
}

// ranDigests returns the digests of the images with which the cluster ran a version. Empty: they are
// not known.
func (r *reading) ranDigests(version string) []v1alpha1.ImageDigest {
	if policy := r.snapshot.Policy; policy != nil {
		for _, one := range policy.Status.Ran {
			if one.Version == version {
				return one.Digests
			}
		}
	}
	var last *v1alpha1.UpgradeRecord
	for i := range r.snapshot.Records {
		record := &r.snapshot.Records[i]
		if record.Spec.Version == version && record.Spec.Outcome == v1alpha1.OutcomeSucceeded && (last == nil || last.Spec.EndTime.Before(&record.Spec.EndTime)) {
			last = record
		}
	}
	if last == nil {
		return nil
	}
	return last.Spec.Digests
}

const (
	// maxTakenBack is the API's limit on status.takenBack.
	maxTakenBack = 16
	// maxSaid is how many versions a Rollback blocks that no upgrade has brought here: a worker's kubelet may
	// say any, and would push the others out.
	maxSaid = 4
	// maxReason is the API's limit on a reason that a person gives.
	maxReason = 256
)

// takenBack returns the policy's status.takenBack: with what the active Rollback takes back, and
// without what a person has requested again.
func (p *planner) takenBack() []v1alpha1.TakenBackVersion {
	policy := p.cluster.reading.snapshot.Policy
	if policy == nil {
		return nil
	}
	list := slices.DeleteFunc(policy.Status.DeepCopy().TakenBack, p.isRequestedAgain)
	if t := p.cluster.target; t != nil && t.back && !t.forLateNodes && t.Status.TriggerTime != nil {
		said := len(slices.DeleteFunc(slices.Clone(list), func(one v1alpha1.TakenBackVersion) bool {
			return !t.isFor(&one.Upgrade) || p.isBrought(one.Version)
		}))
		for _, v := range p.versionsTaken(t) {
			if listed := slices.ContainsFunc(list, func(one v1alpha1.TakenBackVersion) bool { return one.Version == v }); !listed && !p.isBrought(v) {
				if said++; said > maxSaid || len(list) >= maxTakenBack {
					continue
				}
			}
			taken := v1alpha1.TakenBackVersion{Version: v, Upgrade: t.Reference(), Time: *t.Status.TriggerTime, Comment: shorten(t.Spec.Comment, maxReason)}
			if i := slices.IndexFunc(list, func(one v1alpha1.TakenBackVersion) bool { return one.Version == v }); i >= 0 {
				list[i] = taken // by another Rollback before
			} else {
				list = append(list, taken)
			}
		}
	}
	return list[max(0, len(list)-maxTakenBack):]
}

// isRequestedAgain reports whether an upgrade to a version that was taken back has begun, which a
// person requested since.
func (p *planner) isRequestedAgain(taken v1alpha1.TakenBackVersion) bool {
	again := func(u *v1alpha1.ClusterUpgrade) bool {
		return u.Spec.Version == taken.Version && rules.TypeOf(u) != v1alpha1.TypeRollback && u.Spec.Ignores(preflight.VersionBlocked) &&
			u.Status.TriggerTime != nil && taken.Time.Before(u.Status.TriggerTime) && !u.CreationTimestamp.Before(&taken.Time)
	}
	return slices.ContainsFunc(p.queue.targets, func(t *target) bool { return again(t.ClusterUpgrade) })
}

// isBrought reports whether a version is known by more than a worker's word: an upgrade was to bring it, or a control
// plane runs it.
func (p *planner) isBrought(v string) bool {
	s := p.cluster.reading.snapshot
	return s.Policy.Status.Version == v ||
		slices.ContainsFunc(s.Policy.Status.Ran, func(r v1alpha1.RanVersion) bool { return r.Version == v }) ||
		slices.ContainsFunc(s.Upgrades, func(u v1alpha1.ClusterUpgrade) bool { return u.Spec.Version == v }) ||
		slices.ContainsFunc(s.Records, func(r v1alpha1.UpgradeRecord) bool { return r.Spec.Version == v }) ||
		slices.ContainsFunc(p.cluster.nodes, func(n *node) bool { return n.labelled && n.runs.kubelet.String() == v })
}

// versionsTaken returns the versions that nodes run, that late nodes would get, or that upgrades in
// the queue bring, and that the Rollback takes back.
func (p *planner) versionsTaken(t *target) (versions []string) {
	note := func(v version.Version) {
		if t.isTakenBack(v) && !slices.Contains(versions, v.String()) {
			versions = append(versions, v.String())
		}
	}
	for _, n := range p.cluster.nodes {
		if t.concerns(n) {
			note(*n.runs.kubelet)
		}
	}
	for _, other := range p.queue.targets {
		if other.takenBackBy != nil {
			note(other.to)
		}
	}
	for _, e := range p.queue.superseded {
		if e.takenBackBy != nil {
			note(e.to)
		}
	}
	note(p.cluster.reading.policyVersion())
	slices.Sort(versions)
	return versions
}
