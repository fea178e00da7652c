package coordinator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// create creates the automatic upgrade u, unless that is nil. It succeeds if the
// upgrade exists already: another coordinator created it.
func (c *Coordinator) create(ctx context.Context, u *v1alpha1.ClusterUpgrade) error {
	if u == nil {
		return nil
	}
	created, err := c.ours.ClusterUpgrades.Create(ctx, u, metav1.CreateOptions{FieldManager: manager})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("creating ClusterUpgrade %s: %w", u.Name, err)
	}
	c.log.Info("created an upgrade, as the policy asks for it", "upgrade", u.Name, "type", u.Spec.Type, "version", u.Spec.Version)
	c.recordCreated(created)
	return nil
}

// writeUpgrades writes the statuses of upgrades, after the records of those that end
// and the version that late nodes follow. It returns the UIDs of the upgrades whose
// status is not written.
func (c *Coordinator) writeUpgrades(ctx context.Context, d decision) (unwritten map[string]bool, err error) {
	p := d.plan
	lacking, recordErr := c.createRecords(ctx, p.Records)
	policyErr := c.checkTurns(ctx, &d.snapshot, d.policy, p.HookTurns)
	if policyErr == nil {
		policyErr = c.writePolicyStatus(ctx, d)
	}
	if policyErr != nil && p.Policy != nil {
		lacking[p.Policy.Upgrade.UID] = true
	}
	if policyErr != nil && p.Target != nil && !equality.Semantic.DeepEqual(d.policy.Status.HookTurns, p.HookTurns) {
		lacking[string(p.Target.UID)] = true // its nodes are not released before their hooks' turns are stored
	}
	ready := slices.DeleteFunc(slices.Clone(p.Statuses), func(w plan.UpgradeStatus) bool { return lacking[w.UID] })
	unwritten, statusErr := c.writeStatuses(ctx, d.snapshot.Upgrades, ready)
	maps.Copy(unwritten, lacking)
	return unwritten, errors.Join(recordErr, policyErr, statusErr)
}

// checkTurns returns a conflict if a node's turn ends by the plan, and its NodeUpgrade has changed since
// it was read: the hooks after a node must not run by an old state while it is at work.
func (c *Coordinator) checkTurns(ctx context.Context, s *clusterstate.Snapshot, policy *v1alpha1.UpgradePolicy, turns []v1alpha1.HookTurn) error {
	if policy == nil {
		return nil
	}
	open := map[int64]bool{}
	for _, t := range policy.Status.HookTurns {
		open[t.ID] = t.Outcome == ""
	}
	stored := index(s.NodeUpgrades)
	for _, t := range turns {
		if was := stored[t.Node]; t.Node != "" && t.Outcome != "" && open[t.ID] && was != nil {
			now, err := c.ours.NodeUpgrades.Get(ctx, t.Node, metav1.GetOptions{})
			switch {
			case apierrors.IsNotFound(err):
			case err != nil:
				return fmt.Errorf("reading NodeUpgrade %s: %w", t.Node, err)
			case now.ResourceVersion != was.ResourceVersion:
				return apierrors.NewConflict(v1alpha1.NodeUpgrades.GroupResource(), t.Node, errors.New("it has changed, and the turn of its hooks would end"))
			}
		}
	}
	return nil
}

// progressEvery is the pause between two writes of a status in which only the progress differs, which is for
// people.
const progressEvery = 2 * time.Second

// progress is when a status was written last, and when one that waits is due.
type progress struct {
	now     time.Time // of the plan
	uid     string
	written time.Time
	due     *time.Time // nil: none waits
}

// waits reports whether the status of that object is written later. onlyProgress says that nothing else
// differs.
func (p *progress) waits(uid string, onlyProgress bool) bool {
	due := p.written.Add(progressEvery)
	if p.uid != uid || !p.now.Before(due) || p.now.Before(p.written) || !onlyProgress {
		return false
	}
	p.due = &due
	return true
}

// wrote notes that the status of that object has been written. One that could not be is tried again in the
// next plan.
func (p *progress) wrote(uid string) { p.uid, p.written = uid, p.now }

// sameButProgress reports whether the statuses differ only in how many nodes are done, and what the others do.
func sameButProgress(a, b v1alpha1.ClusterUpgradeStatus) bool {
	b.Active, b.Nodes, b.Progress = a.Active, a.Nodes, a.Progress
	b.Conditions = slices.Clone(b.Conditions)
	for i := range b.Conditions {
		if was := meta.FindStatusCondition(a.Conditions, b.Conditions[i].Type); was != nil {
			b.Conditions[i].Message = was.Message
		}
	}
	return equality.Semantic.DeepEqual(a, b)
}

// writeStatuses applies the status of each upgrade that differs from the stored one.
// It returns the UIDs of those that it could not write.
func (c *Coordinator) writeStatuses(ctx context.Context, stored []v1alpha1.ClusterUpgrade, wanted []plan.UpgradeStatus) (unwritten map[string]bool, err error) {
	byUID := make(map[string]*v1alpha1.ClusterUpgrade, len(stored))
	for i := range stored {
		byUID[string(stored[i].UID)] = &stored[i]
	}
	unwritten = map[string]bool{}
	var problems []error
	for _, w := range wanted {
		was := byUID[w.UID]
		if was == nil || was.Name != w.Name || equality.Semantic.DeepEqual(was.Status, w.Status) || c.progress.waits(w.UID, sameButProgress(was.Status, w.Status)) {
			continue
		}
		if err := c.writeStatus(ctx, was, w.Status); err != nil {
			unwritten[w.UID] = true
			problems = append(problems, err)
			continue
		}
		c.progress.wrote(w.UID)
	}
	return unwritten, errors.Join(problems...)
}

// writeStatus applies the status only to the object version that it was decided from:
// it must not overwrite newer values, nor apply to another upgrade of the same name.
// The API server does not compare the UID when a status is applied.
func (c *Coordinator) writeStatus(ctx context.Context, was *v1alpha1.ClusterUpgrade, status v1alpha1.ClusterUpgradeStatus) error {
	object := &v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: was.Name, ResourceVersion: was.ResourceVersion}, Status: status}
	if _, err := c.ours.ClusterUpgrades.Apply(ctx, object, manager, "status"); err != nil {
		return fmt.Errorf("applying the status of ClusterUpgrade %s: %w", was.Name, err)
	}
	c.recordProgress(was, status)
	return nil
}

// succeeded returns the reason and message of an upgrade's condition Succeeded.
func succeeded(s v1alpha1.ClusterUpgradeStatus) (reason, message string) {
	if condition := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionSucceeded); condition != nil {
		return condition.Reason, condition.Message
	}
	return "", ""
}

// ended are the objects that are kept of an ended upgrade.
type ended struct {
	completed time.Time
	records   []v1alpha1.UpgradeRecord
	upgrade   *v1alpha1.ClusterUpgrade // nil: there is none that may be deleted
	triggered bool
}

// kind returns what ended upgrades have the limit with. Those that were never triggered have it for themselves:
// requests that cannot begin erase no record of an upgrade that did. So have Rollbacks, by whose records
// a policy that is created again knows what was taken back: no other upgrade erases those, and they erase no other.
func (e *ended) kind() string {
	switch {
	case !e.triggered:
		return "never triggered"
	case len(e.records) > 0 && e.records[0].Spec.Type == v1alpha1.TypeRollback:
		return "Rollback"
	}
	return ""
}

// maxHistoryBytes is how many bytes the kept records take at most, about, but for the newest of each kind: etcd's quota is 2 GiB by
// default (https://etcd.io/docs/v3.6/op-guide/maintenance/#space-quota), and an upgrade of 5,000 nodes has 8 MiB.
const maxHistoryBytes = 128 << 20

// prune deletes the oldest ended upgrades beyond the policy's historyLimit and maxHistoryBytes: their
// records, and their ClusterUpgrades where the coordinator created them.
func (c *Coordinator) prune(ctx context.Context, s clusterstate.Snapshot) error {
	if s.Policy == nil {
		return nil // it is not known how many are kept
	}
	history := slices.SortedFunc(maps.Values(endedUpgrades(s)), func(a, b *ended) int { return b.completed.Compare(a.completed) })
	var problems []error
	for _, old := range beyond(history, int(s.Policy.Spec.HistoryLimit)) {
		for i := range old.records {
			r := &old.records[i]
			problems = append(problems, deleted("UpgradeRecord", r, c.ours.UpgradeRecords.Delete(ctx, r.Name, only(r))))
		}
		if u := old.upgrade; u != nil {
			problems = append(problems, deleted("ClusterUpgrade", u, c.ours.ClusterUpgrades.Delete(ctx, u.Name, only(u))))
			c.log.Info("deleted an ended upgrade, beyond the policy's historyLimit or the history's size", "upgrade", u.Name)
		}
	}
	return errors.Join(problems...)
}

// beyond returns those beyond the limit of their kind, of which the newest come first, and those whose records would make all that
// are kept take more than maxHistoryBytes. The newest of each kind stays.
func beyond(history []*ended, limit int) (old []*ended) {
	counts, kept := map[string]int{}, 0
	for _, one := range history {
		size := 0
		for i := range one.records {
			size += plan.RecordBytes(&one.records[i])
		}
		counts[one.kind()]++
		if count := counts[one.kind()]; count > limit || count > 1 && kept+size > maxHistoryBytes {
			old = append(old, one)
			continue
		}
		kept += size
	}
	return old
}

// endedUpgrades returns what may be pruned, by the UID of the upgrade: never a
// person's ClusterUpgrade, nor the one that nodes which join late are upgraded by.
func endedUpgrades(s clusterstate.Snapshot) map[string]*ended {
	history := map[string]*ended{}
	of := func(uid string, completed metav1.Time) *ended {
		if history[uid] == nil {
			history[uid] = &ended{completed: completed.Time}
		}
		return history[uid]
	}
	for _, r := range s.Records {
		one := of(r.Spec.Upgrade.UID, r.Spec.EndTime)
		one.records, one.triggered = append(one.records, r), r.Spec.TriggerTime != nil
	}
	for i := range s.Upgrades {
		u := &s.Upgrades[i]
		current := s.Policy.Status.Upgrade
		if u.Status.Outcome == "" || u.Status.EndTime == nil || current != nil && current.UID == string(u.UID) ||
			u.Annotations[v1alpha1.CreatedByAnnotation] != v1alpha1.CreatedByCoordinator {
			continue
		}
		one := of(string(u.UID), *u.Status.EndTime)
		one.upgrade, one.triggered = u, u.Status.TriggerTime != nil
	}
	return history
}

// only returns options that delete this object, and not another one of the same name.
func only(object metav1.Object) metav1.DeleteOptions {
	return *metav1.NewPreconditionDeleteOptions(string(object.GetUID()))
}

// deleted returns the error of a deletion; nil if the object is gone already or was
// replaced.
func deleted(kind string, object metav1.Object, err error) error {
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return fmt.Errorf("deleting %s %s: %w", kind, object.GetName(), err)
}

// createRecords creates the records of upgrades that end now. It comes before their
// outcome is written: an upgrade that has ended has its record. One that exists
// already is not changed. It returns the UIDs of upgrades that lack a record.
func (c *Coordinator) createRecords(ctx context.Context, records []v1alpha1.UpgradeRecord) (lacking map[string]bool, err error) {
	lacking = map[string]bool{}
	var problems []error
	for i := range records {
		_, err := c.ours.UpgradeRecords.Create(ctx, &records[i], metav1.CreateOptions{FieldManager: manager})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			lacking[records[i].Spec.Upgrade.UID] = true
			problems = append(problems, fmt.Errorf("creating UpgradeRecord %s: %w", records[i].Name, err))
		}
	}
	return lacking, errors.Join(problems...)
}

// understood is the reason of a condition Valid that is True.
const understood = "Understood"

// maxMessage is the longest message of a condition, in bytes. The API takes 32,768 characters; one that is too long
// would keep the whole status from being written.
const maxMessage = 4096

// bounded returns a condition's message, or as much of it as is stored.
func bounded(message string) string {
	return strings.ToValidUTF8(message[:min(len(message), maxMessage)], "")
}

// setConditions sets the condition valid and others that have to be True in an object's list. Ready is False for the reason
// of the first that is not. Stalled is True, for the same reason, while valid is False: a person has to act. Otherwise
// it is absent.
func setConditions(list *[]metav1.Condition, generation int64, now time.Time, valid metav1.Condition, others ...metav1.Condition) {
	ready := valid
	for _, condition := range append([]metav1.Condition{valid}, others...) {
		setCondition(list, generation, now, condition)
		if ready.Status == metav1.ConditionTrue {
			ready = condition
		}
	}
	ready.Type = v1alpha1.ConditionReady
	setCondition(list, generation, now, ready)
	if valid.Status == metav1.ConditionTrue {
		meta.RemoveStatusCondition(list, v1alpha1.ConditionStalled)
		return
	}
	valid.Type, valid.Status = v1alpha1.ConditionStalled, metav1.ConditionTrue
	setCondition(list, generation, now, valid)
}

func setCondition(list *[]metav1.Condition, generation int64, now time.Time, condition metav1.Condition) {
	condition.ObservedGeneration, condition.Message = generation, bounded(condition.Message)
	condition.LastTransitionTime = metav1.NewTime(now.UTC().Truncate(time.Second))
	meta.SetStatusCondition(list, condition)
}
