//go:build e2e

package e2e

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/record"
)

// checkEvents checks that the Node has an event for each step of w2 that people want to read of, and no
// other. Its agent is not killed.
func (c *testCluster) checkEvents(t *testing.T) {
	seen := map[string]string{}
	for _, m := range c.recorder.Moments() {
		var event corev1.Event
		if m.Resource != "events" || record.Convert(m, &event) != nil || event.InvolvedObject.Name != "w2" {
			continue
		}
		seen[event.Reason] = event.Message
	}
	for _, s := range c.nodeRecord(t, to, "w2").Steps {
		message, ok := seen["Upgrade"+string(s.Step)]
		if want := s.Step.Info().Event; ok != want {
			t.Errorf("an event for %s: %t, want %t", s.Step, ok, want)
		}
		if ok {
			t.Logf("Upgrade%s: %s", s.Step, message)
		}
	}
}

// checkSlots checks at every recorded moment that no more nodes were down than there are slots,
// none without its slot, and that a control-plane node went first. foreign are the nodes that
// another client cordoned.
func (c *testCluster) checkSlots(t *testing.T, slots int, foreign ...string) {
	t.Helper()
	moments := c.recorder.Moments()
	c.report(t)(record.Promises(moments, slots, foreign...))
	first, err := record.FirstDown(moments, foreign...)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(first, "cp") {
		t.Errorf("%q began first, want a control-plane node", first)
	}
	t.Logf("%d moments recorded, %s began first", len(moments), first)
}

// checkHours checks that everything that began was allowed to at that time. The power of the
// nodes in struck was cut.
func (c *testCluster) checkHours(t *testing.T, struck ...string) {
	t.Helper()
	moments := c.recorder.Moments()
	begun, err := record.Beginnings(moments)
	if err != nil {
		t.Fatal(err)
	}
	if len(begun) < 3*len(c.nodes) {
		t.Errorf("got %d beginnings on %d nodes: some were not recorded", len(begun), len(c.nodes))
	}
	c.report(t)(record.OutOfHours(moments, struck...))
	t.Logf("%d things began, each of them in a window and outside every exclusion", len(begun))
}

// report returns a function that fails the test for each broken promise in its argument.
func (c *testCluster) report(t *testing.T) func([]record.Broken, error) {
	t.Helper()
	return func(broken []record.Broken, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range broken {
			t.Error(c.told(b.Seen, b.Seen, b.Message))
		}
	}
}

// checkReboots checks how often each node rebooted.
func (c *testCluster) checkReboots(t *testing.T, want map[string]int) {
	t.Helper()
	boots, err := record.BootIDs(c.recorder.Moments())
	if err != nil {
		t.Fatal(err)
	}
	for node, times := range want {
		if len(boots[node]) != times+1 {
			t.Errorf("%s: got boot ids %v, want %d reboots", node, boots[node], times)
		}
	}
}
