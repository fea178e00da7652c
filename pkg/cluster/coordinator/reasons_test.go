package coordinator

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestReasonsThatPass checks that a reason is written once it has lasted, and not if another follows sooner.
func TestReasonsThatPass(t *testing.T) {
	r := &reasons{limit: flowcontrol.NewFakeAlwaysRateLimiter(), lasts: 2 * time.Second}
	began := time.Now()
	for _, step := range []struct {
		after   time.Duration
		reason  v1alpha1.Reason
		written bool // it is what is stored
		due     bool
	}{
		{0, v1alpha1.ReasonNotStaged, false, false},
		{1, v1alpha1.ReasonControlPlaneFirst, false, false},
		{2, v1alpha1.ReasonControlPlaneFirst, false, false},
		{3, v1alpha1.ReasonControlPlaneFirst, false, true},
		{4, v1alpha1.ReasonNotItsTurn, false, false},
		{5, v1alpha1.ReasonControlPlaneFirst, true, false}, // back again
		{6, v1alpha1.ReasonNotItsTurn, false, false},
		{8, v1alpha1.ReasonNotItsTurn, false, true},
		{9, v1alpha1.ReasonWindowClosed, false, false},
		{-3600, v1alpha1.ReasonWindowClosed, false, false}, // the clock was set back
		{-3598, v1alpha1.ReasonWindowClosed, false, true},
	} {
		if step.written {
			r.written("w1")
			continue
		}
		if due := r.due("w1", string(step.reason), r.limit, began.Add(step.after*time.Second)); due != step.due || r.takeLater() == step.due {
			t.Errorf("%s after %d s: due %v, want %v, and otherwise later", step.reason, step.after, due, step.due)
		}
	}
	if r.due("w2", "NotStaged", r.limit, began) || len(r.since) != 1 {
		t.Errorf("after all, %v wait to be written", r.since)
	}
	r.due("w3", "NotStaged", r.limit, began)
	if r.forget(func(node string) bool { return node == "w2" }); len(r.since) != 1 || r.since["w3"].reason == "" {
		t.Errorf("without w2, %v wait to be written", r.since)
	}
}

// TestSameReason checks which changes of a node's condition are not written.
func TestSameReason(t *testing.T) {
	status := func(reason v1alpha1.Reason, admits metav1.ConditionStatus, generation int64) admitted {
		return admitted{condition: &metav1.Condition{
			Type: v1alpha1.ConditionAdmitted, Status: admits, Reason: string(reason), ObservedGeneration: generation,
		}}
	}
	waits := status(v1alpha1.ReasonNotItsTurn, metav1.ConditionFalse, 1)
	until := waits
	until.until = &metav1.Time{Time: time.Now()}
	for name, test := range map[string]struct {
		stored, wanted admitted
		want           bool
	}{
		"its order has changed":   {waits, status(v1alpha1.ReasonNotItsTurn, metav1.ConditionFalse, 2), true},
		"another reason":          {waits, status(v1alpha1.ReasonWindowClosed, metav1.ConditionFalse, 1), false},
		"another end":             {waits, until, false},
		"released":                {waits, status(v1alpha1.ReasonReleased, metav1.ConditionTrue, 2), false},
		"still released":          {status(v1alpha1.ReasonReleased, metav1.ConditionTrue, 1), status(v1alpha1.ReasonReleased, metav1.ConditionTrue, 2), false},
		"nothing to wait for":     {waits, admitted{}, false},
		"nothing stored":          {admitted{}, waits, false},
		"neither":                 {},
		"the agent still is away": {status(v1alpha1.ReasonAgentNotAnswering, metav1.ConditionFalse, 1), status(v1alpha1.ReasonAgentNotAnswering, metav1.ConditionFalse, 2), false},
	} {
		if got := sameReason(test.stored, test.wanted); got != test.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
