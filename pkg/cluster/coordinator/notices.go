package coordinator

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/notice"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// newSender returns the sender of notices, which does nothing until it runs.
func (c *Coordinator) newSender(onNews func()) *notice.Sender {
	return notice.NewSender(notice.Config{Secrets: c.kube.CoreV1(), Program: c.sendNotice, Log: c.log, Metrics: c.metrics, OnNews: onNews})
}

// noteNotices adds to the planned statuses what is to be told and what was told, and to the
// policy's which notices cannot be sent. It has that sent which the statuses that were read call
// pending: an event is not sent before it is stored. It returns when to do so again even if nothing
// changes.
func (c *Coordinator) noteNotices(s *clusterstate.Snapshot, p *plan.Plan, now time.Time) (again *time.Time) {
	notices, results := s.Policy.Notices(), c.notices.Results()
	for i := range s.Upgrades {
		u := &s.Upgrades[i]
		after := planned(p, u)
		predicted := func() string { return prediction(s, u, now) }
		records, change := notice.Records(u, &after.Status, notices, results, predicted, now)
		again = earliest(again, change)
		if reflect.DeepEqual(records, u.Status.Notices) || len(records)+len(u.Status.Notices) == 0 {
			continue
		}
		after.Status.Notices = records
		setStatus(p, *after)
	}
	cluster := ""
	if s.Policy != nil {
		cluster = s.Policy.Spec.ClusterName
	}
	c.notices.Update(notices, notice.AllPending(cluster, s.Upgrades, now))
	c.noteTroubles(s.Policy, now)
	c.noteMetrics(s.Policy, now)
	return again
}

// planned returns the status that the plan has for the upgrade, or the one that it has.
func planned(p *plan.Plan, u *v1alpha1.ClusterUpgrade) *plan.UpgradeStatus {
	if i := slices.IndexFunc(p.Statuses, func(w plan.UpgradeStatus) bool { return w.UID == string(u.UID) }); i >= 0 {
		return &p.Statuses[i]
	}
	return &plan.UpgradeStatus{Name: u.Name, UID: string(u.UID), Status: *u.Status.DeepCopy()}
}

// setStatus sets the status that the plan has for an upgrade.
func setStatus(p *plan.Plan, status plan.UpgradeStatus) {
	if i := slices.IndexFunc(p.Statuses, func(w plan.UpgradeStatus) bool { return w.UID == status.UID }); i >= 0 {
		p.Statuses[i] = status
		return
	}
	p.Statuses = append(p.Statuses, status)
}

// prediction returns which nodes are expected to be the first and the last of the upgrade, and
// when. It is empty while another upgrade is active.
func prediction(s *clusterstate.Snapshot, u *v1alpha1.ClusterUpgrade, now time.Time) string {
	predicted := plan.Predict(*s, now)
	if predicted.Upgrade != u.Name {
		return ""
	}
	first, last := predicted.FirstAndLast()
	if first == nil {
		return ""
	}
	return notice.Prediction(first.Name, last.Name, first.PredictedStart, predicted.PredictedEnd)
}

// noteTroubles sets the condition that says which notices cannot be sent.
func (c *Coordinator) noteTroubles(policy *v1alpha1.UpgradePolicy, now time.Time) {
	troubles, allTried := c.notices.Troubles()
	reason, message := "", ""
	if len(troubles) > 0 {
		reason, message = notice.Message(troubles)
	}
	c.noteTrouble(policy, v1alpha1.ConditionNoticesFailed, reason, message, allTried, now)
}

// noteMetrics sets the condition that says why the metrics are not served.
func (c *Coordinator) noteMetrics(policy *v1alpha1.UpgradePolicy, now time.Time) {
	if c.metricsProblem == nil {
		return
	}
	reason, message := "", ""
	problem, known := c.metricsProblem()
	if problem != "" {
		reason, message = "NotServed", fmt.Sprintf("the coordinator cannot serve its metrics (%s): perhaps another program of its node, such as a load balancer, has the port", problem)
	}
	c.noteTrouble(policy, v1alpha1.ConditionMetricsFailed, reason, message, known, now)
}

// noteTrouble sets a condition of the policy that is present while it has a reason, and records an event
// when that begins. After a change of leader the condition stays until this replica has tried all.
func (c *Coordinator) noteTrouble(policy *v1alpha1.UpgradePolicy, condition, reason, message string, allTried bool, now time.Time) {
	before := meta.FindStatusCondition(policy.Status.Conditions, condition)
	switch {
	case reason == "" && (allTried || before == nil || before.ObservedGeneration != policy.Generation):
		meta.RemoveStatusCondition(&policy.Status.Conditions, condition)
		return
	case reason == "":
		return
	case before == nil:
		c.record("UpgradePolicy", policy, corev1.EventTypeWarning, condition, message)
	}
	noteProblem(policy, condition, v1alpha1.Reason(reason), message, now)
}
