package render_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

// TestTransitionsHaveUnobservedSteps checks that steps which began and ended between two reads
// are in the transitions.
func TestTransitionsHaveUnobservedSteps(t *testing.T) {
	steps := func(names ...v1alpha1.Step) (list []v1alpha1.StepTime) {
		for i, name := range names {
			list = append(list, v1alpha1.StepTime{Step: name, StartTime: metav1.NewMicroTime(now.Add(time.Duration(i-10) * time.Second))})
		}
		return list
	}
	before := view.Status{Nodes: []view.Node{{Name: "w-1", Step: "Waiting", State: view.StateWaiting, Steps: steps("Waiting")}}}
	after := view.Status{Nodes: []view.Node{{Name: "w-1", Step: "Draining", State: view.StateActive, Since: ago(7 * time.Second),
		Message: "2 pods are terminating", Steps: steps("Waiting", "Locking", "Cordoning", "Draining")}}}
	want := []string{
		"2026-11-22T01:29:51Z node w-1: Locking",
		"2026-11-22T01:29:52Z node w-1: Cordoning",
		"2026-11-22T01:29:53Z node w-1: Draining: 2 pods are terminating",
	}
	if diff := cmp.Diff(want, render.Transitions(&before, after, now)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := render.Transitions(&after, after, now); len(got) > 0 {
		t.Errorf("transitions were repeated: %q", got)
	}
}

// TestTransitionsOfOneSecondAreInOrder checks the order of steps of the same second, on one node
// and between nodes, also if a node's clock is ahead of ours.
func TestTransitionsOfOneSecondAreInOrder(t *testing.T) {
	step := func(name v1alpha1.Step, after time.Duration) v1alpha1.StepTime {
		return v1alpha1.StepTime{Step: name, StartTime: metav1.NewMicroTime(now.Add(after))}
	}
	before := view.Status{Nodes: []view.Node{
		{Name: "w-1", Step: "Rebooting", State: view.StateActive, Steps: []v1alpha1.StepTime{step("Rebooting", -9*time.Second)}},
		{Name: "w-2", Step: "Draining", State: view.StateActive, Steps: []v1alpha1.StepTime{step("Draining", -9*time.Second)}},
		{Name: "w-3", Step: "Locking", State: view.StateActive, Steps: []v1alpha1.StepTime{step("Locking", -9*time.Second)}},
	}}
	after := view.Status{Nodes: []view.Node{
		// since is to the second: before the step that came before it.
		{Name: "w-1", Step: "Settling", State: view.StateActive, Since: ago(2 * time.Second), Steps: []v1alpha1.StepTime{
			step("Rebooting", -9*time.Second), step("Verifying", -1900*time.Millisecond), step("Settling", -1500*time.Millisecond)}},
		{Name: "w-2", Step: "LastCheck", State: view.StateActive, Since: ago(2 * time.Second), Steps: []v1alpha1.StepTime{
			step("Draining", -9*time.Second), step("LastCheck", -1700*time.Millisecond)}},
		// Its clock is ahead, and it waits again: that step is not told from the list.
		{Name: "w-3", Step: "Waiting", State: view.StateWaiting, Since: ago(-5 * time.Second), Reason: "RulesUnknown", Steps: []v1alpha1.StepTime{
			step("Locking", -9*time.Second), step("Aborting", 4*time.Second)}},
	}}
	want := []string{
		"2026-11-22T01:29:58Z node w-1: Verifying",
		"2026-11-22T01:29:58Z node w-2: LastCheck",
		"2026-11-22T01:29:58Z node w-1: Settling",
		"2026-11-22T01:30:04Z node w-3: Aborting",
		"2026-11-22T01:30:04Z node w-3: Waiting: RulesUnknown",
	}
	if diff := cmp.Diff(want, render.Transitions(&before, after, now)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTransitionsOfManyNodesShareALine(t *testing.T) {
	var before, after view.Status
	for i := range 500 {
		name := fmt.Sprintf("w-%03d", i)
		before.Nodes = append(before.Nodes, view.Node{Name: name, Step: "Staging", State: view.StateWaiting})
		after.Nodes = append(after.Nodes, view.Node{Name: name, Step: "Waiting", State: view.StateWaiting, Reason: "NotItsTurn", Message: "other nodes are before it"})
	}
	after.Nodes[7] = view.Node{Name: "w-007", Step: "Draining", State: view.StateActive}
	want := []string{
		"2026-11-22T01:30:00Z node w-007: Draining",
		"2026-11-22T01:30:00Z nodes w-000, w-001, w-002 and 496 more: Waiting: NotItsTurn: other nodes are before it",
	}
	if diff := cmp.Diff(want, render.Transitions(&before, after, now)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestUpgradeLineHasASentence checks that the line about an upgrade says why it waits, by the coordinator's sentence or
// the reason's meaning, and that another sentence alone is no line.
func TestUpgradeLineHasASentence(t *testing.T) {
	waits := func(reason v1alpha1.Reason, message string) view.Status {
		return view.Status{Upgrade: &view.Upgrade{Name: "v1.34.5", Type: v1alpha1.TypePatch, From: "v1.34.4", To: "v1.34.5", Reason: reason, Message: message}}
	}
	before := waits(v1alpha1.ReasonReleased, "")
	for message, want := range map[string]string{
		"no slot is free": "2026-11-22T01:30:00Z upgrade v1.34.5: Patch v1.34.4 -> v1.34.5, NoSlot: no slot is free",
		"":                "2026-11-22T01:30:00Z upgrade v1.34.5: Patch v1.34.4 -> v1.34.5, NoSlot: " + v1alpha1.ReasonNoSlot.Info().Meaning,
	} {
		if got := render.Transitions(&before, waits(v1alpha1.ReasonNoSlot, message), now); len(got) != 1 || got[0] != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	before = waits(v1alpha1.ReasonNoSlot, "no slot is free")
	if got := render.Transitions(&before, waits(v1alpha1.ReasonNoSlot, "no slot is free: w1"), now); len(got) > 0 {
		t.Errorf("another sentence alone is a line: %q", got)
	}
}

// TestTransitionsAreLines checks that text from objects cannot add lines or control the terminal.
func TestTransitionsAreLines(t *testing.T) {
	after := view.Status{Nodes: []view.Node{{Name: "w-1", Step: "Failed", State: view.StateFailed, Message: "a\nb\x1b[2J"}}}
	got := render.Transitions(nil, after, now)[1]
	if want := "2026-11-22T01:30:00Z node w-1: Failed: a b [2J"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
