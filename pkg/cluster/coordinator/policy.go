package coordinator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/gate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/source"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

// ensurePolicy returns the UpgradePolicy named cluster. If it is missing, it creates
// one with an empty spec, which the CRD's defaults complete, unless another program does
// that. It applies rather than creates, so that a person who applies a spec gets no
// conflict over those defaults. It creates none once a node is managed: the policy was
// deleted then, and the defaults would give every node back and drop the keyring.
func (c *Coordinator) ensurePolicy(ctx context.Context, s clusterstate.Snapshot) (*v1alpha1.UpgradePolicy, error) {
	if s.Policy != nil {
		return s.Policy, nil
	}
	if c.requirePolicy {
		return nil, fmt.Errorf("UpgradePolicy %s does not exist, and the coordinator runs with --require-policy: create it, or run without that flag", v1alpha1.PolicyName)
	}
	if i := slices.IndexFunc(s.NodeUpgrades, managed); i >= 0 {
		return nil, fmt.Errorf("UpgradePolicy %s does not exist, but node %s is managed, so it was deleted: create it again with the spec that it had",
			v1alpha1.PolicyName, s.NodeUpgrades[i].Name)
	}
	empty := &v1alpha1.UpgradePolicy{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.PolicyName}}
	created, err := c.ours.UpgradePolicies.Apply(ctx, empty, manager, "")
	if err != nil {
		return nil, fmt.Errorf("creating UpgradePolicy %s: %w", v1alpha1.PolicyName, err)
	}
	c.log.Info("created the UpgradePolicy, as there was none", "source", created.Spec.Source.URL)
	return created, nil
}

// managed reports whether the node is managed, or was and has not been given back.
func managed(u v1alpha1.NodeUpgrade) bool {
	return u.Spec.Managed || meta.IsStatusConditionTrue(u.Status.Conditions, v1alpha1.ConditionManaged)
}

// observePolicy returns the policy with the status that it should have before a plan is
// made: which versions are on offer since when, whether it is valid, and which writes
// failed.
func observePolicy(stored *v1alpha1.UpgradePolicy, s clusterstate.Snapshot, failing string, now time.Time) *v1alpha1.UpgradePolicy {
	policy := stored.DeepCopy()
	policy.Status.ObservedGeneration = policy.Generation
	policy.Status.Offered = newestOffered(stored.Status.Offered, stored.Status.FormerlyOffered, s, now)
	policy.Status.FormerlyOffered = formerlyOffered(stored.Status, policy.Status.Offered)
	policy.Status.IndexSigned = newestSignature(stored.Status.IndexSigned, policy.Spec.Source, s.Source.Signed)
	valid := metav1.Condition{Type: v1alpha1.ConditionValid, Status: metav1.ConditionTrue, Reason: understood, Message: "every field is understood"}
	if reason, err := checkPolicy(policy.Spec); err != nil {
		valid.Status, valid.Reason, valid.Message = metav1.ConditionFalse, string(reason), err.Error()
	}
	ready := metav1.Condition{Type: v1alpha1.ConditionSourceReady, Status: metav1.ConditionTrue, Reason: "Read", Message: "the index of images was read and understood"}
	if signed := s.Source.Signed; !signed.IsZero() {
		ready.Message += "; it was signed on " + clusterstate.FormatTime(signed)
	}
	if problem := s.Source.Problem; problem.Reason != "" {
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, string(problem.Reason), problem.Message
	}
	setConditions(&policy.Status.Conditions, policy.Generation, now, valid, ready)
	noteProblem(policy, v1alpha1.ConditionWriteFailed, v1alpha1.ReasonAPIWriteFailed, failing, now)
	return policy
}

// noteGates sets the answers of gates. While nothing changes, it keeps the times that are stored, so
// that they are not written every ten seconds.
func noteGates(policy *v1alpha1.UpgradePolicy, answers []v1alpha1.GateStatus) {
	for i := range answers {
		one := &answers[i]
		was := policy.GateStatus(one.Name)
		if was != nil && was.State == one.State && was.Message == one.Message && one.AskedTime.Sub(was.AskedTime.Time).Abs() < gate.RefreshAfter {
			one.SinceTime, one.AskedTime = was.SinceTime, was.AskedTime
		}
	}
	policy.Status.Gates = answers
}

// noteAutomatic sets the condition that says why no automatic upgrade is created.
func noteAutomatic(policy *v1alpha1.UpgradePolicy, hold clusterstate.Hold, now time.Time) {
	noteProblem(policy, v1alpha1.ConditionAutomaticHeld, hold.Reason, cmp.Or(hold.Message, string(hold.Reason)), now)
}

// noteProblem sets a condition that is present only while there is a problem.
func noteProblem(policy *v1alpha1.UpgradePolicy, kind string, reason v1alpha1.Reason, problem string, now time.Time) {
	if problem == "" {
		meta.RemoveStatusCondition(&policy.Status.Conditions, kind)
		return
	}
	setCondition(&policy.Status.Conditions, policy.Generation, now, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: string(reason), Message: problem})
}

// checkPolicy returns why the policy is invalid.
func checkPolicy(spec v1alpha1.UpgradePolicySpec) (v1alpha1.Reason, error) {
	if spec.NodeSelector != nil {
		if _, err := spec.NodeSelector.AsSelector(); err != nil {
			return v1alpha1.ReasonPolicyInvalid, fmt.Errorf("spec.nodeSelector: %w", err)
		}
	}
	if err := gate.Check(spec.Gates); err != nil {
		return v1alpha1.ReasonPolicyInvalid, err
	}
	return v1alpha1.ReasonSourceInvalid, source.Check(spec.Source)
}

// writePolicyStatus stores what is to be remembered, and then applies the status of the policy if
// it differs from the stored one. The plan adds the version that late nodes follow. Without a
// policy there is nothing to write.
func (c *Coordinator) writePolicyStatus(ctx context.Context, d decision) error {
	stored, planned := d.policy, d.plan.Policy
	if stored == nil {
		return nil
	}
	status := d.snapshot.Policy.Status
	status.CoordinatorVersion, status.TimeZoneVersion = c.version, schedule.ZoneVersion()
	if planned != nil {
		status.Version, status.Upgrade, status.Images = planned.Version, planned.Upgrade, planned.Images
	}
	if c.behind.waits(string(stored.UID), sameButBehind(d.shown, status)) {
		return nil
	}
	var err error
	status.StateGeneration, err = c.remember(ctx, d.snapshot.State, status.RememberedState)
	if err != nil || equality.Semantic.DeepEqual(d.shown, status) {
		return err
	}
	// A coordinator that lags must not bring back an older version.
	object := &v1alpha1.UpgradePolicy{ObjectMeta: metav1.ObjectMeta{Name: stored.Name, ResourceVersion: stored.ResourceVersion}, Status: status}
	if _, err := c.ours.UpgradePolicies.Apply(ctx, object, manager, "status"); err != nil {
		return fmt.Errorf("applying the status of UpgradePolicy %s: %w", stored.Name, err)
	}
	c.behind.wrote(string(stored.UID))
	for _, message := range replaced(slices.Concat(stored.Status.FormerlyOffered, stored.Status.Offered), status.Offered) {
		c.record("UpgradePolicy", stored, corev1.EventTypeWarning, eventReplaced, message)
		c.log.Warn("an image was replaced", "message", message)
	}
	return nil
}

// sameButBehind reports whether the statuses differ only in how many nodes do not run the newest version yet.
// Whether any does not is more than that: clusters that follow wait for it.
func sameButBehind(a, b v1alpha1.UpgradePolicyStatus) bool {
	if len(a.Ran) == 0 || len(b.Ran) == 0 || (a.Ran[0].Behind == 0) != (b.Ran[0].Behind == 0) {
		return false
	}
	b.Ran = slices.Clone(b.Ran)
	b.Ran[0].Behind = a.Ran[0].Behind
	return equality.Semantic.DeepEqual(a, b)
}

// writeSchedules is the stage that applies the status of each schedule that differs from the stored
// one. It returns when the first of them changes by itself.
func (c *Coordinator) writeSchedules(ctx context.Context, d decision) (next *time.Time, err error) {
	var problems []error
	schedules := d.snapshot.Schedules
	over := schedule.Excess(schedules)
	for i := range schedules {
		s := &schedules[i]
		status, until := scheduleStatus(s, over[s.Name], d.now)
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
	alone, err := schedule.Verdict{}, over
	if over == nil {
		alone, err = schedule.Alone(s, now), schedule.Check(s)
	}
	state, until := alone.State(), alone.Until
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
	open := metav1.Condition{Type: v1alpha1.ConditionOpen, Status: metav1.ConditionFalse, Reason: state, Message: alone.Why}
	if err != nil {
		open.Message = valid.Message
	}
	if state == schedule.StateOpen {
		open.Status = metav1.ConditionTrue
	}
	setCondition(&status.Conditions, s.Generation, now, open)
	return status, until
}
