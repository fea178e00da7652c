package notice

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestRecordsFit checks that what is told fits into the records of an upgrade, however long its messages are.
func TestRecordsFit(t *testing.T) {
	now := time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)
	notices := []v1alpha1.Notice{{Name: "chat", URLSecretRef: v1alpha1.SecretKeyReference{Name: "chat"}}}
	for _, worst := range []string{strings.Repeat("ö", 16000), strings.Repeat("<b>\n", 8000), strings.Repeat("\x00\xff", 5000)} {
		u := &v1alpha1.ClusterUpgrade{}
		after := &v1alpha1.ClusterUpgradeStatus{
			TriggerTime: &metav1.Time{Time: now}, Blocked: []v1alpha1.NodeNote{{Name: "w1", Step: v1alpha1.StepFailed, Reason: v1alpha1.ReasonRolledBack, Message: worst}},
			Conditions: []metav1.Condition{
				{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionFalse, Reason: string(v1alpha1.ReasonRolledBack), Message: worst, LastTransitionTime: metav1.Time{Time: now.Add(-time.Hour)}},
				{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: string(v1alpha1.ReasonRolledBack), Message: worst, LastTransitionTime: metav1.Time{Time: now.Add(-time.Hour)}},
			},
		}
		records, _ := Records(u, after, notices, nil, func() string { return worst }, now)
		if len(records) == 0 {
			t.Fatal("nothing is told")
		}
		for _, r := range records {
			if utf8.RuneCountInString(r.Message) > 1024 || len(r.Node) > 253 || len(r.ID) > 64 {
				t.Errorf("%s: a message of %d bytes", r.Event, len(r.Message))
			}
		}
	}
}
