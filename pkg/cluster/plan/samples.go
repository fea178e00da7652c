package plan

import (
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// part is a measured part of a node's upgrade.
type part int

const (
	staging part = iota
	components
	controlPlane
	worker
	restart
	softReboot
	parts
)

// samples are the measured durations of each part.
type samples [parts][]time.Duration

// maxSamples is how many workers are measured: more would not change the median much.
const maxSamples = 500

// measure returns how long the nodes took. That is in this upgrade only: an agent clears
// its recorded steps when another upgrade begins. The nodes are in upgrade order, control
// planes first.
func measure(nodes []*node) samples {
	var all samples
	for _, n := range nodes {
		if len(all[worker])+len(all[restart])+len(all[softReboot]) >= maxSamples {
			break
		}
		if took := lastStaging(n.status.Steps); took > 0 {
			all[staging] = append(all[staging], took)
		}
		// Each node counts once, however often it went through a part.
		last := map[part]time.Duration{}
		for _, s := range n.passes() {
			last[s.part] = s.took
		}
		for p, took := range last {
			all[p] = append(all[p], took)
		}
	}
	return all
}

// lastStaging returns how long the last completed staging took; zero: there is none.
func lastStaging(steps []v1alpha1.StepTime) time.Duration {
	for _, step := range slices.Backward(steps) {
		if step.Step == v1alpha1.StepStaging && step.EndTime != nil {
			return step.EndTime.Sub(step.StartTime.Time)
		}
	}
	return 0
}

// sample is how long one node took for one pass.
type sample struct {
	part part
	took time.Duration
}

// passes returns the passes that the node completed. An aborted attempt is not
// measured.
func (n *node) passes() []sample {
	var done []sample
	var began time.Time
	var settled time.Duration
	full := nodePart(n.ControlPlane)
	pass := full
	for _, step := range n.status.Steps {
		if step.EndTime == nil {
			break
		}
		switch step.Step {
		case v1alpha1.StepLocking:
			began, settled, pass = step.StartTime.Time, 0, full
		case v1alpha1.StepChecking:
			pass = components
		case v1alpha1.StepRestarting:
			pass = restart
		case v1alpha1.StepRebooting: // also after a restart that turned out to need a reboot
			if pass = full; n.status.Method == v1alpha1.MethodSoftReboot {
				pass = softReboot
			}
		case v1alpha1.StepSettling, v1alpha1.StepObserving:
			settled += step.EndTime.Sub(step.StartTime.Time)
		case v1alpha1.StepAborting, v1alpha1.StepFailed, v1alpha1.StepRolledBack:
			began = time.Time{}
		case v1alpha1.StepUnlocking:
			if took := step.EndTime.Sub(began) - settled; !began.IsZero() && took > 0 {
				done = append(done, sample{pass, took})
			}
			began = time.Time{}
		}
	}
	return done
}

// nodePart returns the part that is pass 2 of a rebooting node.
func nodePart(isControlPlane bool) part {
	if isControlPlane {
		return controlPlane
	}
	return worker
}
