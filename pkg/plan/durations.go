package plan

import (
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// What is expected of a cluster on which no node has been through it yet. A
// real machine takes a few minutes to boot, and its pods as long to leave.
const (
	defaultStaging    = 2 * time.Minute
	defaultComponents = 3 * time.Minute
	defaultNode       = 5 * time.Minute
	defaultRestart    = time.Minute
)

// durations are how long a node's part is expected to take: the median of what
// this cluster's nodes took, so that one that hung does not count. A pass is
// from taking the slot to freeing it, without the settle time, which the
// strategy says.
type durations struct {
	staging      time.Duration
	components   time.Duration // pass 1: kubeadm on a control plane
	controlPlane time.Duration // pass 2: a control-plane node
	worker       time.Duration // pass 2: any other one
	restart      time.Duration // pass 2 of a node that restarts: no drain, no boot
	settle       time.Duration
}

// enough is how many workers are asked: more would say the same.
const enough = 500

// sample is what one node took for one pass.
type sample struct {
	components, restart bool
	took                time.Duration
}

// measure asks the nodes in their order, so control planes come first.
func measure(nodes []*node, settle time.Duration) *durations {
	var staging, components, controlPlane, worker, restart []time.Duration
	for _, n := range nodes {
		if len(worker) >= enough || len(restart) >= enough {
			break
		}
		staging = append(staging, stagings(n.status.Steps)...)
		for _, s := range passes(n.status.Steps) {
			switch {
			case s.components:
				components = append(components, s.took)
			case s.restart:
				restart = append(restart, s.took)
			case n.ControlPlane:
				controlPlane = append(controlPlane, s.took)
			default:
				worker = append(worker, s.took)
			}
		}
	}
	d := &durations{
		staging:    median(staging, defaultStaging),
		components: median(components, defaultComponents),
		worker:     median(worker, median(controlPlane, defaultNode)),
		restart:    median(restart, defaultRestart),
		settle:     settle,
	}
	d.controlPlane = median(controlPlane, d.worker)
	return d
}

func stagings(steps []v1alpha1.StepTime) []time.Duration {
	var took []time.Duration
	for _, step := range steps {
		if step.Step == v1alpha1.StepStaging && step.FinishedAt != nil {
			took = append(took, step.FinishedAt.Sub(step.StartedAt.Time))
		}
	}
	return took
}

// passes are the passes that a node went through to their end. One that it gave
// up says nothing about the next.
func passes(steps []v1alpha1.StepTime) []sample {
	var done []sample
	var began time.Time
	var settled time.Duration
	components, restart := false, false
	for _, step := range steps {
		if step.FinishedAt == nil {
			break
		}
		switch step.Step {
		case v1alpha1.StepLocking:
			began, settled, components, restart = step.StartedAt.Time, 0, false, false
		case v1alpha1.StepChecking:
			components = true
		case v1alpha1.StepRestarting:
			restart = true
		case v1alpha1.StepRebooting: // in the end
			restart = false
		case v1alpha1.StepSettling:
			settled += step.FinishedAt.Sub(step.StartedAt.Time)
		case v1alpha1.StepAborting, v1alpha1.StepFailed, v1alpha1.StepRolledBack:
			began = time.Time{}
		case v1alpha1.StepUnlocking:
			if took := step.FinishedAt.Sub(began) - settled; !began.IsZero() && took > 0 {
				done = append(done, sample{components, restart, took})
			}
			began = time.Time{}
		}
	}
	return done
}

// few is how many must have been measured before what was assumed does not
// count any more. A first node that hung would otherwise close every window that
// is shorter than that, to all others too.
const few = 3

func median(measured []time.Duration, assumed time.Duration) time.Duration {
	for len(measured) < few {
		measured = append(measured, assumed)
	}
	slices.Sort(measured)
	return measured[len(measured)/2]
}

// durations are measured once, when somebody asks.
func (d *decider) durations() *durations {
	if d.times == nil {
		d.times = measure(d.nodes, d.strategy.Settle.Duration)
	}
	return d.times
}

// expected is how long n is out of service, or its control plane under
// kubeadm's hands, once it has been let go.
func (d *decider) expected(n *node, components bool) time.Duration {
	times := d.durations()
	switch {
	case components:
		return upTo(times.components)
	case d.restarts(n):
		return upTo(times.restart + times.settle)
	case n.ControlPlane:
		return upTo(times.controlPlane + times.settle)
	}
	return upTo(times.worker + times.settle)
}
