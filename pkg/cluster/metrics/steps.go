package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// stepTimes counts how long nodes were in each step, and how long one node waits for the
// next. Steps that ended before this replica led are not counted: the leader before it
// has counted them.
type stepTimes struct {
	durations *prometheus.HistogramVec
	handOffs  *prometheus.HistogramVec
	*stepsSeen
}

// stepsSeen is what was counted so far.
type stepsSeen struct {
	sync.Mutex
	until map[string]time.Time // by the node's UID: the start of its last step that was seen
	begun bool                 // the steps that ended before are known
	back  time.Time            // when a node was last uncordoned
	from  string               // that node
}

func newStepTimes() stepTimes {
	t := stepTimes{
		durations: newHistograms(stepDuration, []float64{0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600}),
		handOffs:  newHistograms(handOffDuration, []float64{0.5, 1, 2, 5, 10, 30, 60, 300, 1800, 3600}),
		stepsSeen: &stepsSeen{until: map[string]time.Time{}},
	}
	t.handOffs.WithLabelValues()
	return t
}

// forget is called when this replica does not lead any more.
func (t *stepTimes) forget() {
	t.Lock()
	defer t.Unlock()
	t.until, t.begun, t.back, t.from = map[string]time.Time{}, false, time.Time{}, ""
}

// count counts the steps that have ended since it was last called.
func (t *stepTimes) count(nodes []v1alpha1.NodeUpgrade) {
	t.Lock()
	defer t.Unlock()
	until := make(map[string]time.Time, len(nodes))
	var cordons []cordon
	for i := range nodes {
		n := &nodes[i]
		last := t.until[string(n.UID)]
		until[string(n.UID)] = last
		for _, step := range n.Status.Steps {
			if step.EndTime == nil || !step.StartTime.After(last) {
				continue
			}
			until[string(n.UID)] = step.StartTime.Time
			if !t.begun {
				continue
			}
			t.durations.WithLabelValues(stepLabel(step.Step)).Observe(step.EndTime.Sub(step.StartTime.Time).Seconds())
			switch step.Step {
			case v1alpha1.StepCordoning:
				cordons = append(cordons, cordon{n.Name, step.StartTime.Time})
			case v1alpha1.StepUncordoning:
				if step.EndTime.After(t.back) {
					t.back, t.from = step.EndTime.Time, n.Name
				}
			}
		}
	}
	for _, c := range cordons {
		if pause := c.at.Sub(t.back); !t.back.IsZero() && c.node != t.from && pause >= 0 {
			t.handOffs.WithLabelValues().Observe(pause.Seconds())
		}
	}
	t.until, t.begun = until, true
}

// cordon is the start of a node's cordon.
type cordon struct {
	node string
	at   time.Time
}
