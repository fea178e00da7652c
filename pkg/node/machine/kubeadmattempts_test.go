package machine

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// TestKubeadmThatDoesNotShowIsCounted checks a kubeadm that succeeds again and again, although the
// node's files never say so: the attempts are counted, and the node fails in the end.
func TestKubeadmThatDoesNotShowIsCounted(t *testing.T) {
	s, o := atLastCheck(time.Date(2026, 11, 21, 1, 0, 0, 0, time.UTC))
	o.Spec.Type, o.Spec.Version, o.Spec.Release = v1alpha1.TypePatch, newVersion, v1alpha1.ReleaseControlPlane
	o.Host.ControlPlane, o.Host.ControlPlaneVersion = true, newVersion
	for range MaxAttempts {
		s.Step, s.Since, s.Attempts = v1alpha1.StepKubeadm, o.Now, s.Attempts+1
		o.Work = map[verb.Verb]Work{verb.Kubeadm: {Result: verb.Result{Key: attemptKey(s, o), OK: true, FinishedAt: o.Now}}}
		if s, _ = Next(s, o); s.Step != v1alpha1.StepAborting || s.Reason != v1alpha1.ReasonKubeadmFailed {
			t.Fatalf("got step %s (%s), want Aborting (KubeadmFailed)", s.Step, s.Reason)
		}
	}
	o.Node.Unschedulable, o.Node.OurCordon, o.Node.SlotMark = false, false, ""
	if s, _ = Next(s, o); s.Step != v1alpha1.StepFailed || !strings.Contains(s.Message, "do not say that it reached") {
		t.Errorf("got step %s (%s), want Failed with the cause", s.Step, s.Message)
	}
}

// TestControlPlaneTakesOneSlotOnly checks that a node which runs an apiserver or a member of etcd takes
// no other slot than the control planes', and goes on with no other one.
func TestControlPlaneTakesOneSlotOnly(t *testing.T) {
	s, o := atLastCheck(time.Date(2026, 11, 21, 1, 0, 0, 0, time.UTC))
	o.Host.OneAtATime, o.Managed = true, true
	for _, slot := range []string{"slot-0", "slot-1"} {
		refuses := slot != "slot-0"
		o.Slot, o.Node.SlotMark = Slot{Held: slot}, slot
		if next, _ := Next(s, o); (next.Step == v1alpha1.StepAborting) != refuses {
			t.Errorf("at its last check with %s: got step %s (%s)", slot, next.Step, next.Message)
		}
		waits, rest := s, o
		waits.Step, rest.Node.Unschedulable, rest.Node.OurCordon, rest.Node.SlotMark = v1alpha1.StepWaiting, false, false, ""
		rest.Slot = Slot{Reserved: slot}
		next, _ := Next(waits, rest)
		if refused := next.Reason == v1alpha1.ReasonNoSlot && strings.Contains(next.Message, "takes only slot-0"); refused != refuses {
			t.Errorf("%s is reserved: got step %s (%s)", slot, next.Step, next.Message)
		}
		waits.Step = v1alpha1.StepLocking
		if _, a := Next(waits, rest); (a.Do == DoTake) == refuses {
			t.Errorf("%s is reserved, at Locking: got action %q", slot, a)
		}
		if o.Host.OneAtATime = false; refuses {
			if next, _ := Next(s, o); next.Step == v1alpha1.StepAborting {
				t.Errorf("a worker with %s: got step %s (%s)", slot, next.Step, next.Message)
			}
		}
		o.Host.OneAtATime = true
	}
}
