package coordinator

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestProgressEvents checks which events a new status of an upgrade brings, also when one write
// brings two things that are new.
func TestProgressEvents(t *testing.T) {
	status := func(triggered bool, outcome v1alpha1.Outcome, reason string, stalled bool) v1alpha1.ClusterUpgradeStatus {
		s := v1alpha1.ClusterUpgradeStatus{FromVersion: "v1.34.3", Outcome: outcome}
		s.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Reason: reason, Message: "why"}}
		if triggered {
			s.TriggerTime = &metav1.Time{Time: time.Unix(0, 0)}
		}
		if stalled {
			s.Conditions = append(s.Conditions, metav1.Condition{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue})
		}
		return s
	}
	trigger := "Normal Triggered from v1.34.3 to v1.34.4; the images are fixed"
	for _, test := range []struct {
		what     string
		was, now v1alpha1.ClusterUpgradeStatus
		want     []string
	}{
		{"nothing is new", status(true, "", "Excluded", false), status(true, "", "Excluded", false), nil},
		{"triggered", status(false, "", "Soaking", false), status(true, "", "Soaking", false), []string{trigger}},
		{"triggered into a hold", status(false, "", "", false), status(true, "", "Excluded", false), []string{trigger, "Normal Excluded why"}},
		{"triggered and stalled", status(false, "", "", false), status(true, "", "PreflightFailed", true),
			[]string{trigger, "Warning PreflightFailed why"}},
		{"another reason", status(true, "", "Excluded", false), status(true, "", "OutsideWindow", false), []string{"Normal OutsideWindow why"}},
		{"ended", status(true, "", "Released", false), status(true, v1alpha1.OutcomeSucceeded, "UpToDate", false),
			[]string{"Normal Finished why"}},
		{"ended with its trigger", status(false, "", "", false), status(true, v1alpha1.OutcomeSucceeded, "UpToDate", false),
			[]string{trigger, "Normal Finished why"}},
	} {
		recorder := record.NewFakeRecorder(9)
		c := &Coordinator{events: recorder, log: slog.New(slog.DiscardHandler)}
		c.recordProgress(&v1alpha1.ClusterUpgrade{Spec: v1alpha1.ClusterUpgradeSpec{Version: "v1.34.4"}, Status: test.was}, test.now)
		close(recorder.Events)
		var got []string
		for event := range recorder.Events {
			got = append(got, event)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: got the events\n%s\nwant\n%s", test.what, strings.Join(got, "\n"), strings.Join(test.want, "\n"))
		}
	}
}

// TestEventsOfTypesWithoutVersion checks what the events say of upgrades that bring no version.
func TestEventsOfTypesWithoutVersion(t *testing.T) {
	for kind, want := range map[v1alpha1.UpgradeType][2]string{
		v1alpha1.TypeReboot: {
			"Normal Created a node's operating system asks for a reboot, and the UpgradePolicy asks for reboots",
			"Normal Triggered nodes whose operating system asks for a reboot get one",
		},
		v1alpha1.TypeCertificates: {
			"Normal Created a control plane's certificate expires soon, and the UpgradePolicy asks for renewals",
			"Normal Triggered kubeadm renews the certificates of control planes",
		},
	} {
		events := record.NewFakeRecorder(10)
		c := &Coordinator{events: events, log: slog.New(slog.DiscardHandler)}
		u := &v1alpha1.ClusterUpgrade{Spec: v1alpha1.ClusterUpgradeSpec{Type: kind}}
		c.recordCreated(u)
		c.recordProgress(u, v1alpha1.ClusterUpgradeStatus{Type: kind, TriggerTime: &metav1.Time{Time: time.Unix(0, 0)}})
		for _, one := range want {
			if got := <-events.Events; got != one {
				t.Errorf("%s: got %q, want %q", kind, got, one)
			}
		}
	}
}
