package coordinator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// ended are the objects that are kept of an ended upgrade.
type ended struct {
	completed time.Time
	records   []v1alpha1.UpgradeRecord
	upgrade   *v1alpha1.ClusterUpgrade // nil: there is none that may be deleted
}

// prune deletes the oldest ended upgrades beyond the policy's historyLimit: their
// records, and their ClusterUpgrades where the coordinator created them.
func (c *Coordinator) prune(ctx context.Context, s fleet.Snapshot) error {
	if s.Policy == nil {
		return nil // it is not known how many are kept
	}
	history := slices.SortedFunc(maps.Values(endedUpgrades(s)), func(a, b *ended) int { return b.completed.Compare(a.completed) })
	var problems []error
	for _, old := range history[min(len(history), int(s.Policy.Spec.HistoryLimit)):] {
		for i := range old.records {
			r := &old.records[i]
			problems = append(problems, deleted("UpgradeRecord", r, c.ours.UpgradeRecords.Delete(ctx, r.Name, only(r))))
		}
		if u := old.upgrade; u != nil {
			problems = append(problems, deleted("ClusterUpgrade", u, c.ours.ClusterUpgrades.Delete(ctx, u.Name, only(u))))
			c.log.Info("deleted an ended upgrade, beyond the policy's historyLimit", "upgrade", u.Name)
		}
	}
	return errors.Join(problems...)
}

// endedUpgrades returns what may be pruned, by the UID of the upgrade: never a
// person's ClusterUpgrade, nor the one that nodes which join late are upgraded by.
func endedUpgrades(s fleet.Snapshot) map[string]*ended {
	history := map[string]*ended{}
	of := func(uid string, completed metav1.Time) *ended {
		if history[uid] == nil {
			history[uid] = &ended{completed: completed.Time}
		}
		return history[uid]
	}
	for _, r := range s.Records {
		one := of(r.Upgrade.UID, r.CompletionTime)
		one.records = append(one.records, r)
	}
	for i := range s.Upgrades {
		u := &s.Upgrades[i]
		current := s.Policy.Status.Upgrade
		if u.Status.Outcome == "" || u.Status.CompletionTime == nil || current != nil && current.UID == string(u.UID) ||
			u.Annotations[v1alpha1.CreatedByAnnotation] != v1alpha1.CreatedByCoordinator {
			continue
		}
		of(string(u.UID), *u.Status.CompletionTime).upgrade = u
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
