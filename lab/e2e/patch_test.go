//go:build e2e

package e2e

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
)

// TestPatchReachesEveryNode is one story on one cluster: each part begins where
// the one before it ended.
func TestPatchReachesEveryNode(t *testing.T) {
	w := newWorld(t, 1, 2)
	w.startClient(t)
	steps := []struct {
		name string
		run  func(*testing.T)
	}{
		{"a source that cannot be trusted activates nothing", w.badSources},
		{"images that are not what they say activate nothing", w.badImages},
		{"a node that cannot stage stays in service", w.badNodes},
		{"a closed window: staged, and nothing else", w.closedWindow},
		{"an exclusion on an open window: nothing", w.exclusion},
		{"the patch reaches every node", w.rollout},
		{"every node is as wanted", func(t *testing.T) { w.asWanted(t, "w2") }},
		{"what is left of it is small and complete", w.remains},
		{"each transition was an event on the node", w.events},
		{"the promises held at every moment", w.promises},
		{"the web service answered every request", w.served},
	}
	for _, step := range steps {
		if !t.Run(step.name, step.run) {
			t.FailNow()
		}
	}
}

// closedWindow waits for the images, and then for something that must not come.
func (w *world) closedWindow(t *testing.T) {
	w.apply(t, scenario.ClosedSchedule(time.Now()))
	w.must(t)(w.Lab.Lab(w.ctx, "publish", to))
	w.everyNodeWaits(t, "WindowClosed")
	w.statusNames(t, "WindowClosed", to)
	began := time.Now()
	w.quiet(t, 20*time.Second)
	w.oneLook(t, began)
	w.untouched(t)
	w.staged(t)
}

// exclusion opens the window under a freeze.
func (w *world) exclusion(t *testing.T) {
	w.apply(t, scenario.Freeze(time.Now()))
	w.apply(t, scenario.OpenSchedule)
	w.everyNodeWaits(t, "Excluded")
	w.statusNames(t, "Excluded", "the lab is frozen")
	w.quiet(t, 20*time.Second)
	w.untouched(t)
}

// rollout lifts the freeze. A person has cordoned w2 before, and the agents of cp1
// and w1 are killed at every step.
func (w *world) rollout(t *testing.T) {
	w.must(t)(w.Kube(w.ctx, "cordon", "w2"))
	killers, stop := context.WithCancel(w.ctx)
	defer stop()
	killed := w.killAgents(killers, t)
	w.must(t)(w.Kube(w.ctx, "delete", "maintenanceschedule", "freeze"))
	w.eventually(t, 12*time.Minute, "every node runs "+to, w.everyNodeDone)
	stop()
	kills := killed()
	w.eventually(t, time.Minute, "the upgrade is recorded as succeeded", func() error { return w.recorded(to) })
	t.Log("\n" + w.must(t)(w.Upgrade(w.ctx, "status")))
	nodes := w.courses(t, to)
	for _, k := range kills {
		k.tell(t, nodes)
	}
	scenario.Timeline(os.Stdout, nodes)
}

// promises looks at every recorded moment.
func (w *world) promises(t *testing.T) {
	w.promised(t, 1, "w2")
	w.inHours(t)
	w.rebooted(t, map[string]int{"cp1": 1, "w1": 1, "w2": 1})
}

// served counts the requests of the whole run, bad input and reboots included.
func (w *world) served(t *testing.T) {
	report := w.prober.Report()
	t.Logf("%d requests sent, %d answered, the slowest in %s", report.Sent, report.Answered, report.Slowest.Round(time.Millisecond))
	if report.Sent < 1000 {
		t.Errorf("only %d requests were sent", report.Sent)
	}
	for _, failure := range report.Failures {
		t.Errorf("%s: %v", failure.At.Format(time.TimeOnly), failure.Err)
	}
}
