package plan

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// Nodes that join late or return, and nodes that the policy begins to select, are brought to
// the version of the last upgrade that succeeded. They pass all filters. kubeadm on a control
// plane changes the whole cluster, and that upgrade's trigger, approval and snapshot of etcd
// were about other control planes: if one is behind, an upgrade of its own is created.

// lateTarget returns the upgrade to whose version late nodes are brought. Nil: there is
// none, or its own end is not stored yet: it would wait for its own nodes as for late ones.
func (r *reading) lateTarget() *target {
	u := r.followed()
	if u == nil || u.Status.Outcome == "" && u.DeletionTimestamp == nil {
		return nil
	}
	t := r.newTarget(u)
	if back := r.takingBack(u); back != nil {
		t = back
	}
	t.forLateNodes, t.hold = true, r.policyHold
	t.passed = r.passedBy(t)
	return t
}

// takingBack returns u as the Rollback that it is, if it is one and a node that may go runs what it took back from
// every node: one that was abandoned meanwhile returns with that. Nil: there is none. Other nodes that join
// late are never taken back.
func (r *reading) takingBack(u *v1alpha1.ClusterUpgrade) *target {
	var taken []version.Version
	for _, one := range r.snapshot.Policy.Status.TakenBack {
		if one.Upgrade.UID == string(u.UID) {
			taken = append(taken, parsed(one.Version))
		}
	}
	if len(taken) == 0 {
		return nil
	}
	back := u.DeepCopy()
	back.Spec.Type, back.Status.Type = v1alpha1.TypeRollback, v1alpha1.TypeRollback
	t := r.newTarget(back)
	t.forLateNodes, t.taken = true, taken
	windows := rules.NewWindows(back, r.snapshot.Schedules)
	if !slices.ContainsFunc(r.nodes, func(n *node) bool { return t.isBehind(r, n, windows) && !t.isStuck(n, r.now) }) {
		return nil
	}
	return t
}

// passedBy returns the names of the late control planes for which late workers do not wait, as a person has to
// act before they are upgraded. Kubernetes may hold a worker all the same (apiServerTooOld).
func (r *reading) passedBy(late *target) (names []string) {
	for _, n := range r.nodes {
		if !n.ControlPlane || n.busy() || !late.concerns(n) || late.upToDate(n) {
			continue
		}
		windows := rules.NewWindows(late.ClusterUpgrade, r.snapshot.Schedules)
		if late.isStuck(n, r.now) || !late.isBehind(r, n, windows) || r.noneOfItsOwn(late).NeedsPerson() {
			names = append(names, n.Name)
		}
	}
	return names
}

// passes reports whether late workers do not wait for the control plane.
func (t *target) passes(n *node) bool { return t != nil && slices.Contains(t.passed, n.Name) }

// hasWork reports whether a late worker may be upgraded at some time, and does not wait for a
// late control plane; or, of a Rollback, whether a node may be taken back. A version that is blocked, or is
// being taken back, has none.
func (t *target) hasWork(r *reading) bool {
	if t.takenBackBy != nil || r.snapshot.Policy.Blocked(t.Spec.Version) != nil {
		return false
	}
	windows := rules.NewWindows(t.ClusterUpgrade, r.snapshot.Schedules)
	return slices.ContainsFunc(t.remaining(r), func(n *node) bool { return (!n.ControlPlane || t.back) && t.isBehind(r, n, windows) })
}

// isBehind reports whether the late node is not up to date and may be upgraded at some time.
func (t *target) isBehind(r *reading, n *node, windows *rules.Windows) bool {
	return t.concerns(n) && !t.upToDate(n) && !never(t.mayGo(n, windows, r.now))
}

// lateControlPlane holds a control-plane node that is late. It says why the node gets no
// upgrade of its own, if it gets none.
func lateControlPlane(c *cluster, n *node) clusterstate.Hold {
	if !c.target.forLateNodes || !n.ControlPlane || c.target.back {
		return clusterstate.Hold{}
	}
	for _, hold := range []clusterstate.Hold{onHold(c, n), notRequested(c, n), windowClosed(c, n)} {
		if never(hold) {
			return hold
		}
	}
	if hold := c.reading.noneOfItsOwn(c.target); hold.Holds() {
		return hold
	}
	message := fmt.Sprintf("a control plane gets %s by a ClusterUpgrade of its own, with its checks and approvals", c.target.to)
	return clusterstate.Hold{Reason: v1alpha1.ReasonQueued, Message: message}
}

// noneOfItsOwn returns why no upgrade is created for late control planes. One that cannot
// succeed would be created again and again; one that did not succeed is retried by a person.
func (r *reading) noneOfItsOwn(late *target) clusterstate.Hold {
	if late.clusterAPIDecides {
		return rules.NotRequested
	}
	if blocked := r.snapshot.Policy.Blocked(late.Spec.Version); blocked != nil {
		message := fmt.Sprintf("nodes that join late get %s, which the UpgradePolicy blocks (%s): request an upgrade of every node to a version that it does not block",
			blocked.Version, blocked.Comment)
		return clusterstate.Hold{Reason: v1alpha1.ReasonQueued, Message: message, Stays: true}
	}
	if newer := r.newerAPIServer(late); newer != nil {
		message := fmt.Sprintf("kube-apiserver on %s runs %s, and nodes that join late get %s, which is older: request an upgrade of every node to %s or later",
			newer.Node, newer.Version, late.to, newer.Version)
		return clusterstate.Hold{Reason: v1alpha1.ReasonSkew, Message: message}
	}
	if name, outcome := r.lastEnded(late.Spec.Version); outcome != v1alpha1.OutcomeSucceeded && outcome != "" {
		message := fmt.Sprintf("upgrade %s ended as %s, and none is created again for this control plane: solve its problem, then `kubectl upgrade apply %s`", name, outcome, late.to)
		return clusterstate.Hold{Reason: v1alpha1.ReasonQueued, Message: message, Stays: true}
	}
	for _, n := range r.nodes {
		if n.busy() && late.concerns(n) {
			message := fmt.Sprintf("a control plane gets %s by a ClusterUpgrade of its own, once node %s is in service again", late.to, n.Name)
			return clusterstate.Hold{Reason: v1alpha1.ReasonQueued, Message: message}
		}
	}
	return clusterstate.Hold{}
}

// lastEnded returns the upgrade to the version that ended last, and how; empty: there is none. One that was deleted
// before its end says nothing about the version.
func (r *reading) lastEnded(to string) (name string, outcome v1alpha1.Outcome) {
	var last time.Time
	note := func(upgrade, version string, ended v1alpha1.Outcome, at *metav1.Time) {
		if version == to && ended != "" && ended != v1alpha1.OutcomeCanceled && at != nil && !at.Time.Before(last) {
			name, outcome, last = upgrade, ended, at.Time
		}
	}
	for i := range r.snapshot.Upgrades {
		u := &r.snapshot.Upgrades[i]
		note(u.Name, u.Spec.Version, u.Status.Outcome, u.Status.EndTime)
	}
	for i := range r.snapshot.Records {
		record := &r.snapshot.Records[i]
		note(record.Spec.Upgrade.Name, record.Spec.Version, record.Spec.Outcome, &record.Spec.EndTime)
	}
	return name, outcome
}

// upgradeOfControlPlanes returns the upgrade of its own that a late control plane needs. Nil:
// none is needed or possible, or an upgrade in the queue brings the version: one to it, or a later one
// that can go on. One that is dead gets it, too: that upgrade says what it waits for.
func (r *reading) upgradeOfControlPlanes(q queue, wake *wakeTime) *v1alpha1.ClusterUpgrade {
	late := r.lateTarget()
	if late == nil || late.back || late.hold.Holds() || r.noneOfItsOwn(late).Holds() {
		return nil
	}
	bringing := slices.DeleteFunc(slices.Clone(q.targets), func(t *target) bool {
		return t.back || t.to.Less(late.to) || t.to != late.to && (q.noneCanProceed || q.cannotProceed(t, r, wake))
	})
	windows := rules.NewWindows(late.ClusterUpgrade, r.snapshot.Schedules)
	if !slices.ContainsFunc(r.nodes, func(n *node) bool {
		return n.labelled && (n.Ready || late.isStuck(n, r.now)) && late.isBehind(r, n, windows) &&
			!slices.ContainsFunc(bringing, func(t *target) bool { return t.concerns(n) })
	}) {
		return nil
	}
	u := newAutomatic(late.to.Name()+"-control-planes", v1alpha1.TypePatch)
	base := u.Name
	for number := 2; r.isNamed(u.Name); number++ {
		u.Name = fmt.Sprintf("%s-%d", base, number)
	}
	u.Spec.Type, u.Spec.Version = "", late.Spec.Version
	return u
}

// isNamed reports whether there is an upgrade of that name, or the record of one.
func (r *reading) isNamed(name string) bool {
	return upgradeNamed(r.snapshot.Upgrades, name) != nil ||
		slices.ContainsFunc(r.snapshot.Records, func(r v1alpha1.UpgradeRecord) bool { return r.Spec.Upgrade.Name == name })
}

// NewerPatch returns the newest patch of the kubelet's minor that the source offers, and when the
// coordinator first saw one that is newer than the kubelet. Nil: there is none. The policy may be nil.
func NewerPatch(policy *v1alpha1.UpgradePolicy, kubelet string) (newest string, since *time.Time) {
	runs, err := version.Parse(kubelet)
	if err != nil || policy == nil {
		return "", nil
	}
	highest := runs
	for i := range policy.Status.Offered {
		offered := &policy.Status.Offered[i]
		v, err := version.Parse(offered.Version)
		if err != nil || v.Line() != runs.Line() || !runs.Less(v) {
			continue
		}
		if highest.Less(v) {
			newest, highest = offered.Version, v
		}
		if since == nil || offered.FirstSeenTime.Time.Before(*since) {
			since = &offered.FirstSeenTime.Time
		}
	}
	return newest, since
}
