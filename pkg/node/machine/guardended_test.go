package machine

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// TestGuardEndedIsReported checks that a node which the guard could not return counts as not
// Ready rather than as rolled back, and that its status says why.
func TestGuardEndedIsReported(t *testing.T) {
	s, o := atLastCheck(time.Date(2026, 11, 21, 1, 0, 0, 0, time.UTC))
	s.Step, s.RebootedFrom = v1alpha1.StepVerifying, "boot-0"
	o.Spec.Type, o.Spec.Version = v1alpha1.TypePatch, newVersion
	o.Host.BootID, o.Host.Active, o.Host.Merged = "boot-1", newVersion, newVersion
	const gone = "the kubelet does not run; the image of " + oldVersion + " is gone, so the node cannot return to it"
	o.Host.Rollback = &verb.Rollback{Upgrade: "uid-1", From: oldVersion, To: newVersion, FinishedAt: o.Now, Impossible: true, Message: gone}
	for wait, want := range map[time.Duration]v1alpha1.Reason{time.Minute: v1alpha1.ReasonNodeNotReady, time.Hour: v1alpha1.ReasonNotReadyInTime} {
		o.Now = s.Since.Add(wait)
		next, _ := Next(s, o)
		if next.Reason != want || !strings.HasSuffix(next.Message, "; the guard has ended: "+gone) {
			t.Errorf("after %s: got %s (%s: %s), want %s and why the guard has ended", wait, next.Step, next.Reason, next.Message, want)
		}
	}
	o.Host.Rollback.Upgrade = "uid-0"
	if next, _ := Next(s, o); strings.Contains(next.Message, "guard") {
		t.Errorf("after the rollback of another upgrade: %s", next.Message)
	}
}

// TestNodesFaultIsReported checks that a cause which is the node's own has a reason of its own, with
// what the guard has found, whether the node was returned or not.
func TestNodesFaultIsReported(t *testing.T) {
	s, o := atLastCheck(time.Date(2026, 11, 21, 1, 0, 0, 0, time.UTC))
	s.Step, s.RebootedFrom = v1alpha1.StepVerifying, "boot-0"
	o.Spec.Type, o.Spec.Version = v1alpha1.TypePatch, newVersion
	o.Host.BootID, o.Host.Active, o.Host.Merged = "boot-1", oldVersion, oldVersion
	o.Node.BootID, o.Node.KubeletVersion = "boot-1", oldVersion
	for _, test := range []struct {
		impossible, nodesFault bool
		step                   v1alpha1.Step
		want                   v1alpha1.Reason
	}{
		{false, true, v1alpha1.StepRolledBack, v1alpha1.ReasonNodeAtFault},
		{false, false, v1alpha1.StepRolledBack, v1alpha1.ReasonRolledBack},
		{true, true, v1alpha1.StepFailed, v1alpha1.ReasonNodeAtFault},
		{true, false, v1alpha1.StepFailed, v1alpha1.ReasonWrongVersion},
	} {
		o.Host.Rollback = &verb.Rollback{
			Upgrade: "uid-1", From: oldVersion, To: newVersion, FinishedAt: o.Now, Message: "image other cannot be read", Log: "merged: no extension",
			Impossible: test.impossible, NodesFault: test.nodesFault,
		}
		next, _ := Next(s, o)
		if next.Step != test.step || next.Reason != test.want || !strings.HasSuffix(next.Message, "image other cannot be read") || next.KubeletLog != "merged: no extension" {
			t.Errorf("impossible %t, the node's fault %t: got %s (%s: %s) with %q, want %s (%s)",
				test.impossible, test.nodesFault, next.Step, next.Reason, next.Message, next.KubeletLog, test.step, test.want)
		}
	}
}
