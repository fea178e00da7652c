package upgradesample

import (
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// node is a node and its steps so far.
type node struct {
	name, pool string
	steps      []v1alpha1.StepTime
	done       time.Time // when its last pass ended
	rand       *rand.Rand
}

// step adds a step of about that many seconds, and returns its end.
func (n *node) step(at time.Time, step v1alpha1.Step, seconds float64) time.Time {
	start, end := metav1.NewMicroTime(at), at.Add(time.Duration(seconds*(0.85+0.3*n.rand.Float64())*1000)*time.Millisecond)
	until := metav1.NewMicroTime(end)
	n.steps = append(n.steps, v1alpha1.StepTime{Step: step, StartTime: start, EndTime: &until})
	return end
}

// waitUntil adds a step Waiting that lasts until an instant.
func (n *node) waitUntil(at, until time.Time) {
	start, end := metav1.NewMicroTime(at), metav1.NewMicroTime(until)
	n.steps = append(n.steps, v1alpha1.StepTime{Step: v1alpha1.StepWaiting, StartTime: start, EndTime: &end})
}

// ready returns since when the node waits.
func (n *node) ready() time.Time { return n.steps[len(n.steps)-1].EndTime.Time }

// components adds pass 1.
func (n *node) components(at time.Time, snapshot bool) time.Time {
	n.waitUntil(n.ready(), at)
	at = n.step(at, v1alpha1.StepLocking, 2)
	if snapshot {
		at = n.step(at, v1alpha1.StepSnapshotting, 11)
	}
	at = n.step(at, v1alpha1.StepKubeadm, 105)
	at = n.step(at, v1alpha1.StepChecking, 32)
	return n.step(at, v1alpha1.StepUnlocking, 1)
}

// reboot adds pass 2, whose drain takes that many seconds.
func (n *node) reboot(at time.Time, drain float64) time.Time {
	n.waitUntil(n.ready(), at)
	at = n.step(at, v1alpha1.StepLocking, 2)
	at = n.step(at, v1alpha1.StepKubeadm, 6)
	at = n.step(at, v1alpha1.StepCordoning, 1)
	at = n.step(at, v1alpha1.StepDraining, drain)
	at = n.step(at, v1alpha1.StepLastCheck, 1)
	at = n.step(at, v1alpha1.StepActivating, 4)
	at = n.step(at, v1alpha1.StepRebooting, 95)
	at = n.step(at, v1alpha1.StepVerifying, 28)
	at = n.step(at, v1alpha1.StepSettling, 120)
	at = n.step(at, v1alpha1.StepUncordoning, 1)
	n.done = n.step(at, v1alpha1.StepUnlocking, 1)
	return n.done
}

// abort adds an attempt whose drain ends after its limit.
func (n *node) abort(at time.Time) time.Time {
	n.waitUntil(n.ready(), at)
	at = n.step(at, v1alpha1.StepLocking, 2)
	at = n.step(at, v1alpha1.StepKubeadm, 6)
	at = n.step(at, v1alpha1.StepCordoning, 1)
	at = n.step(at, v1alpha1.StepDraining, 600)
	return n.step(at, v1alpha1.StepAborting, 3)
}

// at returns the steps as they were at an instant.
func (n *node) at(now time.Time) (steps []v1alpha1.StepTime) {
	for _, step := range n.steps {
		if step.StartTime.After(now) {
			break
		}
		if step.EndTime != nil && step.EndTime.After(now) {
			step.EndTime = nil
		}
		steps = append(steps, step)
	}
	return steps
}
