//go:build e2e

package e2e

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/record"
)

// events wants an event on the Node for each step of w2, whose agent is not killed.
func (w *world) events(t *testing.T) {
	seen := map[string]string{}
	for _, m := range w.recorder.Moments() {
		var event corev1.Event
		if m.Resource != "events" || record.Convert(m, &event) != nil || event.InvolvedObject.Name != "w2" {
			continue
		}
		seen[event.Reason] = event.Message
	}
	for _, s := range w.course(t, to, "w2").Steps {
		message, ok := seen["Upgrade"+string(s.Step)]
		if !ok {
			t.Errorf("no event for %s", s.Step)
		}
		t.Logf("Upgrade%s: %s", s.Step, message)
	}
}

// promised looks at every recorded moment: no more nodes down at once than there
// are slots and never one without its slot, and a control-plane node first.
// foreign are the nodes that the product did not cordon.
func (w *world) promised(t *testing.T, slots int, foreign ...string) {
	t.Helper()
	moments := w.recorder.Moments()
	w.unbroken(t)(record.Promises(moments, slots, foreign...))
	first, err := record.FirstDown(moments, foreign...)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(first, "cp") {
		t.Errorf("%q went first, want a control-plane node", first)
	}
	t.Logf("%d moments recorded, %s went first", len(moments), first)
}

// inHours looks at everything that ever began, whether it might then. The power
// of nodes in struck was cut.
func (w *world) inHours(t *testing.T, struck ...string) {
	t.Helper()
	moments := w.recorder.Moments()
	begun, err := record.Beginnings(moments)
	if err != nil {
		t.Fatal(err)
	}
	if len(begun) < 3*len(w.nodes) {
		t.Errorf("%d beginnings on %d nodes: they were not all seen", len(begun), len(w.nodes))
	}
	w.unbroken(t)(record.OutOfHours(moments, struck...))
	t.Logf("%d things began, each of them in a window and outside every exclusion", len(begun))
}

// unbroken takes what a look at the moments reported.
func (w *world) unbroken(t *testing.T) func([]string, error) {
	t.Helper()
	return func(broken []string, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range broken {
			t.Error(line)
		}
	}
}

// rebooted counts each node's boots but the first.
func (w *world) rebooted(t *testing.T, want map[string]int) {
	t.Helper()
	boots, err := record.BootIDs(w.recorder.Moments())
	if err != nil {
		t.Fatal(err)
	}
	for node, times := range want {
		if len(boots[node]) != times+1 {
			t.Errorf("%s had the boot ids %v, want %d reboots", node, boots[node], times)
		}
	}
}
