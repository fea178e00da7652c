package plan

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// addCanceled adds the records of upgrades that were deleted before they had ended. They say of each node how it is at
// that time: one at work aborts, or finishes after its last check.
func (p *planner) addCanceled(out *Plan) {
	for _, u := range p.cluster.reading.deleted() {
		t := p.cluster.reading.newTarget(u.DeepCopy())
		ended := t.DeepCopy()
		if ended.Status.EndTime = ended.DeletionTimestamp; ended.Status.EndTime == nil {
			ended.Status.EndTime = wholeSecond(p.cluster.now)
		}
		ended.Status.Outcome = v1alpha1.OutcomeCanceled
		p.setConditions(ended, metav1.ConditionFalse, p.cluster.canceled(t))
		out.Records = append(out.Records, p.cluster.records(t, ended, p.cluster.endedFor(t, v1alpha1.ReasonUpgradeWithdrawn))...)
	}
}

// deleted returns the upgrades that were deleted before they had ended, and have no record: those that are gone, and
// those that only a finalizer of another program keeps.
func (r *reading) deleted() (list []*v1alpha1.ClusterUpgrade) {
	note := func(u *v1alpha1.ClusterUpgrade) {
		if !slices.ContainsFunc(r.snapshot.Records, func(one v1alpha1.UpgradeRecord) bool { return one.Spec.Upgrade.UID == string(u.UID) }) {
			list = append(list, u)
		}
	}
	for i := range r.snapshot.Deleted {
		note(&r.snapshot.Deleted[i])
	}
	for i := range r.snapshot.Upgrades {
		if u := &r.snapshot.Upgrades[i]; u.DeletionTimestamp != nil && u.Status.Outcome == "" {
			note(u)
		}
	}
	return list
}

// canceled returns why an upgrade that was deleted has ended, with its nodes at work.
func (c *cluster) canceled(t *target) clusterstate.Hold {
	message := "the ClusterUpgrade was deleted before it began"
	if t.Status.TriggerTime != nil {
		message = fmt.Sprintf("the ClusterUpgrade was deleted with %d of %d nodes done", t.Status.Nodes.Done, t.Status.Nodes.Total)
	}
	var busy []string
	for _, n := range c.nodes {
		if t.isFor(n.spec.Upgrade) && n.busy() && !n.failed() {
			busy = append(busy, fmt.Sprintf("%s (%s)", n.Name, n.status.Step))
		}
	}
	if len(busy) > 0 {
		message += "; at work: " + strings.Join(busy, ", ")
	}
	return clusterstate.Hold{Reason: v1alpha1.ReasonUpgradeWithdrawn, Message: message}
}
