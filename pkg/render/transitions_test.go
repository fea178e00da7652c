package render_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/render"
)

// Nobody looks often enough to see each step; the node wrote them down.
func TestTransitionsTellStepsThatCameAndWent(t *testing.T) {
	steps := func(names ...v1alpha1.Step) (list []v1alpha1.StepTime) {
		for i, name := range names {
			list = append(list, v1alpha1.StepTime{Step: name, StartedAt: metav1.NewMicroTime(now.Add(time.Duration(i-10) * time.Second))})
		}
		return list
	}
	before := render.Status{Nodes: []render.Node{{Name: "w-1", Step: "Waiting", State: render.StateWaiting, Steps: steps("Waiting")}}}
	after := render.Status{Nodes: []render.Node{{Name: "w-1", Step: "Draining", State: render.StateActive, Since: ago(7 * time.Second),
		Message: "2 pods are leaving", Steps: steps("Waiting", "Locking", "Cordoning", "Draining")}}}
	want := []string{
		"2026-11-22T01:29:51Z node w-1: Locking",
		"2026-11-22T01:29:52Z node w-1: Cordoning",
		"2026-11-22T01:29:53Z node w-1: Draining: 2 pods are leaving",
	}
	if diff := cmp.Diff(want, render.Transitions(&before, after, now)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := render.Transitions(&after, after, now); len(got) > 0 {
		t.Errorf("told twice: %q", got)
	}
}

func TestTransitionsOfManyNodesShareALine(t *testing.T) {
	var before, after render.Status
	for i := range 500 {
		name := fmt.Sprintf("w-%03d", i)
		before.Nodes = append(before.Nodes, render.Node{Name: name, Step: "Staging", State: render.StateWaiting})
		after.Nodes = append(after.Nodes, render.Node{Name: name, Step: "Waiting", State: render.StateWaiting, Reason: "NotItsTurn", Message: "other nodes are before it"})
	}
	after.Nodes[7] = render.Node{Name: "w-007", Step: "Draining", State: render.StateActive}
	want := []string{
		"2026-11-22T01:30:00Z node w-007: Draining",
		"2026-11-22T01:30:00Z nodes w-000, w-001, w-002 and 496 more: Waiting: NotItsTurn: other nodes are before it",
	}
	if diff := cmp.Diff(want, render.Transitions(&before, after, now)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What somebody wrote into an object may not steer the terminal.
func TestTransitionsAreLines(t *testing.T) {
	after := render.Status{Nodes: []render.Node{{Name: "w-1", Step: "Failed", State: render.StateFailed, Message: "a\nb\x1b[2J"}}}
	got := render.Transitions(nil, after, now)[1]
	if want := "2026-11-22T01:30:00Z node w-1: Failed: a b [2J"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
