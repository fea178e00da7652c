package machine

import (
	"testing"
	"time"

	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestSettledAt checks that the settle time counts from when the node was Ready after its reboot, and that the agent has seen
// the end of it.
func TestSettledAt(t *testing.T) {
	rebooted := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return rebooted.Add(time.Duration(seconds) * time.Second) }
	before := []StepTime{{Step: v1alpha1.StepRebooting, StartedAt: rebooted}, {Step: v1alpha1.StepVerifying}, {Step: v1alpha1.StepSettling}}
	again := append([]StepTime{{Step: v1alpha1.StepRebooting, StartedAt: rebooted}, {Step: v1alpha1.StepVerifying}, {Step: v1alpha1.StepSettling}}, before[1:]...)
	for _, test := range []struct {
		name                 string
		steps                []StepTime
		ready, since, agent  int
		now, settle, settled int
	}{
		{"the agent comes with the kubelet", before, 10, 10, 10, 11, 20, 30},
		{"the agent comes late, and sees 20 seconds", before, 10, 25, 24, 26, 20, 45},
		{"the agent comes late, and the settle time is long", before, 10, 40, 39, 41, 120, 130},
		{"the Node was never seen as not Ready", before, -600, 10, 9, 11, 120, 130},
		{"the node was not Ready meanwhile, which no agent has seen", before, 50, 10, 9, 60, 120, 170},
		{"the kubelet did not renew its Lease meanwhile", again, 10, 60, 9, 61, 120, 180},
		{"the clock was ahead", before, 9000, 10, 9, 11, 120, 130},
		{"the agent was replaced near the end", before, 10, 10, 125, 126, 120, 145},
		{"a short settle time", before, 10, 12, 11, 13, 5, 17},
		{"none", before, 10, 12, 11, 13, 0, 12},
	} {
		s := State{Step: v1alpha1.StepSettling, Since: at(test.since), Steps: test.steps}
		o := Observation{Now: at(test.now), WatchingSince: at(test.agent), Node: Node{Ready: true, ReadySince: at(test.ready)}}
		o.Spec.SettleSeconds = ptr.To(int32(test.settle))
		if got := settledAt(s, o); !got.Equal(at(test.settled)) {
			t.Errorf("%s: has settled %s after the reboot was requested, want %d s", test.name, got.Sub(rebooted), test.settled)
		}
	}
}
