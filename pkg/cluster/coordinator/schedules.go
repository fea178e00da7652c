package coordinator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

// writeSchedules applies the status of each schedule that differs from the stored
// one, and returns when the first of them changes by itself.
func (c *Coordinator) writeSchedules(ctx context.Context, schedules []v1alpha1.MaintenanceSchedule, now time.Time) (*time.Time, error) {
	var next *time.Time
	var problems []error
	over := schedule.Excess(schedules)
	for i := range schedules {
		s := &schedules[i]
		status, until := scheduleStatus(s, over[s.Name], now)
		next = earliest(next, until)
		if equality.Semantic.DeepEqual(s.Status, status) {
			continue
		}
		object := &v1alpha1.MaintenanceSchedule{ObjectMeta: metav1.ObjectMeta{Name: s.Name}, Status: status}
		if _, err := c.ours.MaintenanceSchedules.Apply(ctx, object, manager, "status"); err != nil {
			problems = append(problems, fmt.Errorf("applying the status of MaintenanceSchedule %s: %w", s.Name, err))
			continue
		}
		c.log.Info("a schedule's state changed", "schedule", s.Name, "state", status.State, "until", until)
	}
	return next, errors.Join(problems...)
}

// scheduleStatus returns the status that a schedule should have, and when it changes
// by itself. One that is over the limit of the cluster is not evaluated.
func scheduleStatus(s *v1alpha1.MaintenanceSchedule, over error, now time.Time) (v1alpha1.MaintenanceScheduleStatus, *time.Time) {
	state, until, err := schedule.StateClosed, (*time.Time)(nil), over
	if over == nil {
		state, until = schedule.State(s, now)
		err = schedule.Check(s)
	}
	status := *s.Status.DeepCopy()
	status.ObservedGeneration, status.State, status.UntilTime = s.Generation, state, nil
	if until != nil {
		status.UntilTime = &metav1.Time{Time: until.UTC().Truncate(time.Second)}
	}
	valid := metav1.Condition{Type: v1alpha1.ConditionValid, Status: metav1.ConditionTrue, Reason: understood, Message: "every field is understood"}
	if err != nil {
		valid.Status, valid.Reason = metav1.ConditionFalse, string(v1alpha1.ReasonScheduleInvalid)
		valid.Message = err.Error() + "; every window of every schedule is closed until this is fixed"
	}
	setConditions(&status.Conditions, s.Generation, now, valid)
	return status, until
}
