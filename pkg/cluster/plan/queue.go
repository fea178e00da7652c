package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
)

// queue is the upgrades that have not ended.
type queue struct {
	targets        []*target // the first is active
	superseded     []ended   // they end without becoming active
	noneCanProceed bool      // no upgrade can begin or continue for now
	planned        *target   // the upgrade that nodes are planned for: the active one, or lateTarget
	// leftBehind are the nodes that an upgrade which has upgraded all others leaves to the next one.
	leftBehind map[string]bool
}

// ended is a superseded upgrade, and the later one that supersedes it.
type ended struct {
	*target
	newer *v1alpha1.ClusterUpgrade
}

// newQueue returns the queue with the upgrade that nodes are planned for.
func (r *reading) newQueue(wake *wakeTime) queue {
	q := queue{leftBehind: map[string]bool{}}
	for _, u := range unfinished(r.snapshot.Upgrades) {
		t := r.newTarget(u)
		if newer := r.replacedBy(t); newer != nil {
			q.superseded = append(q.superseded, ended{t, newer})
		} else {
			q.targets = append(q.targets, t)
		}
	}
	late := r.lateTarget()
	if len(q.targets) > 1 || late != nil || len(r.policySpec().Automatic) > 0 {
		q.choose(r, late, wake)
	}
	if len(q.targets) == 0 || late.atWork(r) || q.noneCanProceed && late != nil && late.hasWork(r) {
		q.planned = late
		return q
	}
	q.targets[0] = q.targets[0].triggered(r)
	q.planned = q.targets[0]
	return q
}

// unfinished returns copies of the upgrades that have not ended: triggered ones first,
// then by age. A retry has the place of the upgrade that it retries.
func unfinished(upgrades []v1alpha1.ClusterUpgrade) []*v1alpha1.ClusterUpgrade {
	var open []*v1alpha1.ClusterUpgrade
	place := map[*v1alpha1.ClusterUpgrade]*v1alpha1.ClusterUpgrade{}
	for i := range upgrades {
		if upgrades[i].Status.Outcome == "" && upgrades[i].DeletionTimestamp == nil {
			u := upgrades[i].DeepCopy()
			open, place[u] = append(open, u), placeOf(u, upgrades)
		}
	}
	slices.SortFunc(open, func(a, b *v1alpha1.ClusterUpgrade) int {
		return cmp.Or(
			triggeredFirst(a)-triggeredFirst(b),
			place[a].CreationTimestamp.Compare(place[b].CreationTimestamp.Time),
			cmp.Compare(place[a].Name, place[b].Name),
			a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
			cmp.Compare(a.Name, b.Name),
		)
	})
	return open
}

// triggeredFirst returns the sort key that keeps triggered upgrades in front of older
// ones that appear later.
func triggeredFirst(u *v1alpha1.ClusterUpgrade) int {
	if u.Status.TriggerTime != nil {
		return 0
	}
	return 1
}

// choose puts the active upgrade in front: the first that can begin or continue, or
// else the first.
//
// The upgrade that a node is being upgraded for stays in front. So does one to a version that
// nodes are planned for, so that the cluster is not left between two versions. A Rollback goes
// before all others, then the renewal of certificates, which takes minutes: it need not wait until a long upgrade has
// ended, but until none of its nodes is at work. An upgrade to a version goes before a Reboot, so that one reboot serves both.
func (q *queue) choose(r *reading, late *target, wake *wakeTime) {
	current := r.inProgress()
	if i := slices.IndexFunc(q.targets, func(t *target) bool { return t.isFor(current) }); i >= 0 {
		q.toFront(i)
		return
	}
	stuck := make([]bool, len(q.targets))
	for i, t := range q.targets {
		if stuck[i] = q.cannotProceed(t, r, wake); stuck[i] && !t.versionless() {
			q.leaveBehind(t, r)
		}
	}
	q.markYielded(stuck, late, r, wake)
	q.noneCanProceed = !slices.Contains(stuck, false)
	first := -1
	for i, t := range q.targets {
		if (q.noneCanProceed || !stuck[i]) && (first < 0 || t.rank(r, stuck[i]) < q.targets[first].rank(r, stuck[first])) {
			first = i
		}
	}
	if first >= 0 {
		q.toFront(first)
	}
}

// rank returns the priority of an upgrade: the lowest goes first; equal ones keep their order. A Rollback
// that cannot proceed goes before nothing: nodes would forget why they cannot stage the image of the
// upgrade that they are planned for, which then seems to be able to proceed, again and again.
func (t *target) rank(r *reading, stuck bool) int {
	switch {
	case t.back && !stuck:
		return -2
	case t.certificates && !stuck:
		return -1
	case t.reboot:
		return 2
	case t.assigned(r):
		return 0
	}
	return 1
}

func (q *queue) toFront(i int) {
	t := q.targets[i]
	q.targets = slices.Insert(slices.Delete(q.targets, i, i+1), 0, t)
}

// inProgress returns the upgrade that a node is being upgraded for, or released for, by its order.
func (r *reading) inProgress() *v1alpha1.UpgradeReference {
	for _, n := range r.nodes {
		if n.spec.Upgrade != nil && (n.busy() || n.released()) {
			return n.spec.Upgrade
		}
	}
	return nil
}

// atWork reports whether a node is being upgraded, or released, for the upgrade, and has neither
// failed nor been abandoned.
func (t *target) atWork(r *reading) bool {
	return slices.ContainsFunc(r.nodes, func(n *node) bool {
		return (n.busy() || n.released()) && !n.failed() && n.abandoned == nil && t.isFor(n.spec.Upgrade)
	})
}

// assigned reports whether the spec of a NodeUpgrade is for the upgrade.
func (t *target) assigned(r *reading) bool {
	return slices.ContainsFunc(r.nodes, func(n *node) bool { return t.isFor(n.spec.Upgrade) })
}

// begun reports whether a node has begun with the upgrade.
func (t *target) begun(r *reading) bool {
	return slices.ContainsFunc(r.nodes, func(n *node) bool {
		kubeadm := t.runsKubeadmUpgrade() && n.ControlPlane && t.kubeadmDone(n) || t.hasRenewed(n)
		return t.isFor(n.status.Upgrade) && (kubeadm || n.status.Retry.Attempts > 0 || t.rebooted(n))
	})
}

// cannotProceed reports whether the upgrade can neither begin nor continue for now, so
// that others go before it: it cannot be triggered, people hold all of it before it has
// begun, its nodes are gone, the remaining ones may never be upgraded, or not before a
// person acts, or it waits for an agent that does not answer.
func (q queue) cannotProceed(t *target, r *reading, wake *wakeTime) bool {
	begun := t.begun(r)
	if hold := t.peopleHold(r.now); hold.Holds() {
		wake.at(hold.Until)
		return !begun
	}
	trial := t.triggered(r)
	if trial.hold.Holds() {
		wake.at(trial.hold.Until)
		return true
	}
	if trial.cannotSoak(r) || noNode(r, trial).Holds() {
		return true
	}
	windows := rules.NewWindows(trial.ClusterUpgrade, r.snapshot.Schedules)
	remaining := trial.remaining(r)
	heldUp := trial.isHeldUp(r, begun, q.leftBehind)
	for _, n := range remaining {
		hold := trial.mayGo(n, windows, r.now)
		wake.at(hold.Until)
		wake.at(n.stuckAt())
		if !heldUp && !never(hold) && !trial.isStuck(n, r.now) && (begun || !hold.Reason.Info().HeldByPeople) {
			return false
		}
	}
	return len(remaining) > 0 || slices.ContainsFunc(r.nodes, func(n *node) bool { return trial.lookOverdue(n, r) })
}

// mayGo returns the hold that people, or Cluster API, put on the node now.
func (t *target) mayGo(n *node, w *rules.Windows, now time.Time) clusterstate.Hold {
	if hold := rules.Label(n.Labels); hold.Holds() {
		return hold
	}
	if hold := t.requestHold(n, now); hold.Holds() {
		return hold
	}
	return w.Lookup(w.ClassOf(n.Labels, t.typeFor(n)), now).Hold
}

// never reports whether a node with that hold may never be upgraded: it is on hold, Cluster API may not
// ask for it, or no window is known to open for it.
func never(hold clusterstate.Hold) bool {
	return hold.Reason == v1alpha1.ReasonOnHold || hold.Reason == v1alpha1.ReasonNotRequested || hold.Reason == v1alpha1.ReasonWindowClosed && hold.Until == nil
}

// Queued is an upgrade that has not ended, in its place in the queue.
type Queued struct {
	*v1alpha1.ClusterUpgrade // as it was read
	// CannotProceed reports whether the upgrade can neither begin nor continue for now, so
	// that others go before it.
	CannotProceed bool
	// RetriedBy is the upgrade whose retryOf names this one. Nil: there is none.
	RetriedBy *v1alpha1.ClusterUpgrade
}

// Queue returns the upgrades that have not ended, in their order at now: the active one
// is the first. Upgrades that are being deleted or superseded are left out.
func Queue(s clusterstate.Snapshot, now time.Time) []Queued {
	r, wake := read(&s, now), wakeTime{now: now}
	q := r.newQueue(&wake)
	current := r.inProgress()
	targets, stuck := slices.Clone(q.targets), make(map[*target]bool, len(q.targets))
	for _, t := range targets {
		stuck[t] = !t.isFor(current) && q.cannotProceed(t, r, &wake)
	}
	if len(targets) > 1 {
		slices.SortStableFunc(targets[1:], func(a, b *target) int {
			if stuck[a] != stuck[b] {
				return map[bool]int{true: 1, false: -1}[stuck[a]]
			}
			return a.rank(r, stuck[a]) - b.rank(r, stuck[b])
		})
	}
	list := make([]Queued, len(targets))
	for i, t := range targets {
		list[i] = Queued{ClusterUpgrade: upgradeNamed(s.Upgrades, t.Name), CannotProceed: stuck[t]}
		if next := q.retryOf(t); next != nil {
			list[i].RetriedBy = upgradeNamed(s.Upgrades, next.Name)
		}
	}
	return list
}

// supersedes returns the newer upgrade that brings a later version to every node that t
// still has to upgrade. Nil: there is none. An upgrade that was created after the newer
// one took effect is not superseded: it asks for a downgrade.
func (r *reading) supersedes(t *target) *v1alpha1.ClusterUpgrade {
	if !known(t.to) || t.clusterAPIDecides || t.isFor(r.inProgress()) { // Cluster API asks for a version of each node
		return nil
	}
	for _, u := range r.newerThan(t) {
		if at := r.reachedAt(u); at != nil && !at.Before(&t.CreationTimestamp) && r.covers(u, t) {
			return u
		}
	}
	return nil
}

// newerThan returns the upgrades to later versions that may supersede t, also the one that late nodes follow
// if it was deleted. A Rollback is superseded only by what is requested after it: the others it takes back.
func (r *reading) newerThan(t *target) (list []*v1alpha1.ClusterUpgrade) {
	note := func(u *v1alpha1.ClusterUpgrade) {
		to, asked := parsed(u.Spec.Version), !t.back || t.CreationTimestamp.Before(&u.CreationTimestamp)
		if known(to) && t.to.Less(to) && rules.TypeOf(u) != v1alpha1.TypeRollback && asked {
			list = append(list, u)
		}
	}
	for i := range r.snapshot.Upgrades {
		note(&r.snapshot.Upgrades[i])
	}
	if u := rules.FollowedUpgrade(r.snapshot.Policy); u != nil && !slices.ContainsFunc(r.snapshot.Upgrades, func(one v1alpha1.ClusterUpgrade) bool { return one.UID == u.UID }) {
		note(u)
	}
	return list
}

// reachedAt returns when u took effect: its completion, if it succeeded, or its
// trigger, once an apiserver is at the version: kubeadm takes none back. Nil: it has not.
func (r *reading) reachedAt(u *v1alpha1.ClusterUpgrade) *metav1.Time {
	switch {
	case u.Status.Outcome == v1alpha1.OutcomeSucceeded:
		return u.Status.EndTime
	case u.Status.Outcome != "" || u.Status.TriggerTime == nil || u.DeletionTimestamp != nil:
		return nil
	}
	to := parsed(u.Spec.Version)
	reached := func(pod clusterstate.StaticPod) bool { return atLeast(parsed(pod.Version), to) }
	if !slices.ContainsFunc(r.onControlPlanes(r.snapshot.APIServers), reached) {
		return nil
	}
	return u.Status.TriggerTime
}

// covers reports whether u selects every node that t still has to upgrade. If t was triggered and no
// node is left, it reports whether u has brought its version to all nodes of t: else t succeeds.
func (r *reading) covers(u *v1alpha1.ClusterUpgrade, t *target) bool {
	selector, err := readSelector(u.Spec.NodeSelector)
	if err != nil {
		return false
	}
	newer := &target{selector: selector}
	remaining, all := t.Status.TriggerTime == nil, true
	for _, n := range r.nodes {
		switch selected := newer.selects(n); {
		case !t.concerns(n):
		case t.upToDate(n):
			all = all && selected
		case !selected:
			return false
		default:
			remaining = true
		}
	}
	return remaining || all && !t.back && u.Status.Outcome == v1alpha1.OutcomeSucceeded
}

func (e ended) hold() clusterstate.Hold {
	message := fmt.Sprintf("upgrade %s brings %s, which is newer", e.newer.Name, e.newer.Spec.Version)
	if rules.TypeOf(e.newer) == v1alpha1.TypeRollback {
		return takenBackHold(e.newer, e.Spec.Version)
	}
	return clusterstate.Hold{Reason: v1alpha1.ReasonSuperseded, Message: message}
}
