package coordinator

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"k8s.io/client-go/tools/record"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// TestConditionsFit gives each condition of the policy a message that is longer than the API takes.
func TestConditionsFit(t *testing.T) {
	long, now := strings.Repeat("ö", 40000), time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)
	c := &Coordinator{events: record.NewFakeRecorder(10)}
	stored := &v1alpha1.UpgradePolicy{}
	stored.Spec.Source.URL = long // as an older CRD accepted it
	policy := observePolicy(stored, clusterstate.Snapshot{Source: clusterstate.Source{Problem: clusterstate.Hold{Reason: v1alpha1.ReasonSourceInvalid, Message: long}}}, long, now)
	noteAutomatic(policy, clusterstate.Hold{Reason: v1alpha1.ReasonSourceInvalid, Message: long}, now)
	c.noteTrouble(policy, v1alpha1.ConditionNoticesFailed, "NotSent", long, true, now)
	c.noteTrouble(policy, v1alpha1.ConditionSilencesFailed, "NotSet", long, true, now)
	if got := len(policy.Status.Conditions); got != 8 {
		t.Errorf("%d conditions, want 8: %+v", got, policy.Status.Conditions)
	}
	for _, condition := range policy.Status.Conditions {
		if size := utf8.RuneCountInString(condition.Message); size > 32768 || !utf8.ValidString(condition.Message) {
			t.Errorf("the message of %s has %d characters", condition.Type, size)
		}
	}
}
