package metrics

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// node is a managed node with what is known about it.
type node struct {
	*clusterstate.Node
	plan    *plan.NodePlan
	upgrade *v1alpha1.NodeUpgrade // nil: there is none yet
}

// managed yields the managed nodes.
func (s *scrape) managed(yield func(node) bool) {
	nodes := make(map[string]*clusterstate.Node, len(s.Snapshot.Nodes))
	for i := range s.Snapshot.Nodes {
		nodes[s.Snapshot.Nodes[i].Name] = &s.Snapshot.Nodes[i]
	}
	upgrades := make(map[string]*v1alpha1.NodeUpgrade, len(s.Snapshot.NodeUpgrades))
	for i := range s.Snapshot.NodeUpgrades {
		upgrades[s.Snapshot.NodeUpgrades[i].Name] = &s.Snapshot.NodeUpgrades[i]
	}
	for i := range s.Plan.Nodes {
		n := node{plan: &s.Plan.Nodes[i]}
		n.Node, n.upgrade = nodes[n.plan.Name], upgrades[n.plan.Name]
		if n.Node != nil && (n.plan.Managed || n.upgrade != nil) && !yield(n) {
			return
		}
	}
}

func (s *scrape) nodes() {
	for n := range s.managed {
		if n.upgrade == nil {
			s.set(nodeInfo, 1, n.Name, s.version(n.Kubelet), n.plan.To, "", reasonLabel(n.plan.Reason))
			continue
		}
		status := &n.upgrade.Status
		s.set(nodeInfo, 1, n.Name, s.version(n.Kubelet), n.upgrade.Spec.Version, stepLabel(status.Step), reasonLabel(n.reason()))
		if status.StepStartTime != nil {
			s.at(nodeStepStart, &status.StepStartTime.Time, n.Name)
		}
		if n.Ready && status.ObservedGeneration != n.upgrade.Generation && (n.OS == "" || n.OS == "linux") {
			s.set(agentBehind, 1, n.Name)
		}
		s.attempt(n)
		s.drain(n)
	}
	if s.Agents != nil {
		desired, ready := s.Agents()
		s.set(agents, float64(desired), "Desired")
		s.set(agents, float64(ready), "Ready")
	}
}

// reason returns the reason that `kubectl upgrade status` shows when the plan is carried
// out.
func (n node) reason() v1alpha1.Reason {
	status := v1alpha1.NodeUpgradeStatus{Conditions: slices.Clone(n.upgrade.Status.Conditions)}
	if waits, admitted := n.plan.Admission(); waits && !admitted {
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{Type: v1alpha1.ConditionAdmitted, Status: metav1.ConditionFalse, Reason: string(n.plan.Reason)})
	} else {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionAdmitted)
	}
	reason, _ := status.Explain()
	return reason
}

// attempt adds when a node that has begun took its slot, and when it should be done.
func (s *scrape) attempt(n node) {
	began := attemptBegan(&n.upgrade.Status)
	if began == nil {
		return
	}
	s.at(attemptStart, began, n.Name)
	if expected := n.upgrade.Spec.ExpectedSeconds; expected != nil {
		end := began.Add(time.Duration(*expected) * time.Second)
		s.at(attemptEnd, &end, n.Name)
	}
}

// attemptBegan returns when the node took its slot for the present attempt; nil: it is in
// service.
func attemptBegan(status *v1alpha1.NodeUpgradeStatus) *time.Time {
	switch status.Step.Info().Phase {
	case v1alpha1.PhaseRevocable, v1alpha1.PhaseCommitted, v1alpha1.PhaseStopped:
	default:
		return nil
	}
	var began *time.Time
	for i := range status.Steps {
		if step := &status.Steps[i]; step.Step == v1alpha1.StepLocking || began == nil {
			began = &step.StartTime.Time
		}
	}
	if began == nil && status.StepStartTime != nil {
		began = &status.StepStartTime.Time
	}
	return began
}

// drain adds what keeps pods on the node.
func (s *scrape) drain(n node) {
	reason, message := n.upgrade.Status.Cause()
	if reason != v1alpha1.ReasonDrainBlocked && reason != v1alpha1.ReasonDrainTimeout {
		return
	}
	told := map[Budget]bool{}
	for _, b := range Budgets(message) {
		if !s.budgets.add(b.Namespace + "/" + b.Name) {
			b = Budget{}
		}
		if !told[b] {
			told[b] = true
			s.set(drainBlocked, 1, n.Name, b.Namespace, b.Name)
		}
	}
}

// stepTimes counts how long nodes were in each step, and how long one node waits for the
// next. Steps that ended before this replica led are not counted: the leader before it
// has counted them.
type stepTimes struct {
	durations *prometheus.HistogramVec
	handOffs  *prometheus.HistogramVec
	boots     *prometheus.CounterVec
	*stepsSeen
}

// stepsSeen is what was counted so far.
type stepsSeen struct {
	sync.Mutex
	until map[string]time.Time // by the node's UID: the start of its last step that was seen
	begun bool                 // the steps that ended before are known
	boot  map[string]string    // by the node's UID: the attempt of its last rehearsed boot
	back  time.Time            // when a node was last uncordoned
	from  string               // that node
}

func newStepTimes() stepTimes {
	t := stepTimes{
		durations: newHistograms(stepDuration, []float64{0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600}),
		handOffs:  newHistograms(handOffDuration, []float64{0.5, 1, 2, 5, 10, 30, 60, 300, 1800, 3600}),
		boots:     newCounters(rehearsedBoots),
		stepsSeen: &stepsSeen{until: map[string]time.Time{}, boot: map[string]string{}},
	}
	t.handOffs.WithLabelValues()
	for _, rehearsal := range []v1alpha1.RehearsalResult{v1alpha1.RehearsalPassed, v1alpha1.RehearsalFailed, v1alpha1.RehearsalIncomplete} {
		for _, boot := range []v1alpha1.BootResult{v1alpha1.BootUp, v1alpha1.BootAssisted, v1alpha1.BootDown} {
			t.boots.WithLabelValues(string(rehearsal), string(boot)) // so that the first one is an increase
		}
	}
	return t
}

// forget is called when this replica does not lead any more.
func (t *stepTimes) forget() {
	t.Lock()
	defer t.Unlock()
	t.until, t.boot, t.begun, t.back, t.from = map[string]time.Time{}, map[string]string{}, false, time.Time{}, ""
}

// count counts the steps that have ended since it was last called.
func (t *stepTimes) count(nodes []v1alpha1.NodeUpgrade) {
	t.Lock()
	defer t.Unlock()
	until, boots := make(map[string]time.Time, len(nodes)), map[string]string{}
	var cordons []cordon
	for i := range nodes {
		n := &nodes[i]
		last := t.until[string(n.UID)]
		until[string(n.UID)] = last
		if attempt := t.countBoot(n); attempt != "" {
			boots[string(n.UID)] = attempt
		}
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
	t.until, t.boot, t.begun = until, boots, true
}

// countBoot counts a node's rehearsed boot once, and returns which attempt it was of. Empty: there is none.
func (t *stepTimes) countBoot(n *v1alpha1.NodeUpgrade) (attempt string) {
	outcome := n.Status.Rehearsal
	if outcome == nil || outcome.Boot == "" || n.Status.Upgrade == nil {
		return ""
	}
	attempt = fmt.Sprintf("%s/%d", n.Status.Upgrade.UID, n.Status.Retry.Attempts)
	if t.begun && t.boot[string(n.UID)] != attempt {
		t.boots.WithLabelValues(string(outcome.Result), string(outcome.Boot)).Inc()
	}
	return attempt
}

// cordon is the start of a node's cordon.
type cordon struct {
	node string
	at   time.Time
}

// fleetVersions adds how many nodes have the image of each version, and how many lack a
// patch that the source offers.
func (s *scrape) fleetVersions() {
	staged, lacking := map[string]int{}, map[string]int{}
	if s.Plan.Version != "" {
		staged[s.Plan.Version] = 0
	}
	for n := range s.managed {
		if n.upgrade == nil || n.upgrade.Status.LacksImage() {
			continue
		}
		lacking[s.version(n.Kubelet)]++
		if v := n.upgrade.Status.Versions.Staged; v != "" && v != n.Kubelet {
			staged[s.version(v)]++
		}
	}
	for v, count := range staged {
		s.set(nodesStaged, float64(count), v)
	}
	for v, count := range lacking {
		_, since := plan.NewerPatch(s.Snapshot.Policy, v)
		if since == nil {
			count = 0
		}
		s.set(nodesBehind, float64(count), v)
		s.at(nodesBehindStart, since, v)
	}
}
