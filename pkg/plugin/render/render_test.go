package render_test

import (
	"flag"
	"go/build"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

var update = flag.Bool("update", false, "write testdata anew")

var now = time.Date(2026, 11, 22, 1, 30, 0, 0, time.UTC)

func ago(d time.Duration) *time.Time { t := now.Add(-d); return &t }

// busy returns a cluster with every kind of state.
func busy() view.Status {
	return view.Status{
		Upgrade: &view.Upgrade{Name: "patch-v1.34.4", Type: "Patch", From: "v1.34.3", To: "v1.34.4", Progress: "1/5", TriggerTime: ago(4 * time.Minute),
			Reason: v1alpha1.ReasonNodeFailed, Message: "worker-3 did not come back", Stalled: true},
		Queued: []string{"minor-v1.35.4", "reboot-1"},
		Last:   &view.Upgrade{Name: "patch-v1.34.3"},
		Schedules: []view.Schedule{
			{Name: "nightly", State: "Open", Until: ago(-210 * time.Minute)},
			{Name: "freeze", State: "Excluded"},
			{Name: "broken", State: "Invalid", Message: `recurrence: "FREQ=NEVER" is not understood`},
		},
		Nodes: []view.Node{
			{Name: "cp-1", Condition: "Ready", State: view.StateDone, Kubelet: "v1.34.4", Staged: "v1.34.4", Target: "v1.34.4", Step: "Idle", Since: ago(time.Minute), Reason: "UpToDate"},
			{Name: "cp-2", Condition: "Ready", State: view.StateWaiting, Kubelet: "v1.34.3", Staged: "v1.34.4", Step: "Waiting", Since: ago(time.Minute), Reason: "WindowClosed", Message: "window nightly/w opens 2026-11-23 02:00 Europe/Berlin", Until: ago(-23*time.Hour - 30*time.Minute)},
			{Name: "worker-1", Condition: "Ready,SchedulingDisabled", State: view.StateActive, Kubelet: "v1.34.3", Staged: "v1.34.4", Target: "v1.34.4", Release: "Node", Slot: "slot-0", Agent: "v0.1.0", Step: "Draining", Since: ago(12 * time.Second),
				Reason: "DrainBlocked", Message: "PodDisruptionBudget web/web allows no eviction of pod web/web-7c9f-abcde"},
			{Name: "worker-2", Condition: "Ready", State: view.StateWaiting, Kubelet: "v1.34.3", Staged: "v1.34.4", Step: "Waiting", Since: ago(4 * time.Minute), Reason: "NotItsTurn", Message: "worker-1 is before it", Until: ago(-210 * time.Minute)},
			{Name: "worker-3", Condition: "NotReady,SchedulingDisabled", State: view.StateFailed, Kubelet: "v1.34.3", Staged: "v1.34.4", Step: "Failed", Since: ago(90 * time.Minute), Reason: "RebootFailed", Message: "the reboot was asked for and did not happen"},
			{Name: "worker-4", Condition: "Ready", State: view.StateUnknown, Message: "no agent has reported from this node", OnHold: true},
		},
		Unmanaged: []string{"edge-1", "edge-2"},
		Policy: &view.Policy{Automatic: []v1alpha1.AutomaticUpgrade{{Type: "Patch", MinAgeSeconds: ptr.To[int32](7 * 24 * 3600)}, {Type: "Reboot", NoticeSeconds: ptr.To[int32](24 * 3600)}, {Type: "Certificates", RemainingSeconds: ptr.To[int32](30 * 24 * 3600)}}, Version: "v1.34.3",
			Problems: []view.Problem{{Reason: "SourceUnavailable", Message: "reading https://images.example/SHA256SUMS: no such host"}}},
		Approvals: []view.Approval{
			{Upgrade: "patch-v1.34.4", Group: "db", Command: `kubectl patch clusterupgrade patch-v1.34.4 --type merge -p '{"spec":{"approved":{"groups":["db"]}}}'`},
			{Upgrade: "minor-v1.35.4", Command: `kubectl patch clusterupgrade minor-v1.35.4 --type merge -p '{"spec":{"approved":{"upgrade":true}}}'`},
		},
	}
}

func TestScreens(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	finished := view.Status{Last: &view.Upgrade{Name: "patch-v1.34.4", Type: "Patch", From: "v1.34.3", To: "v1.34.4", Outcome: "Succeeded", EndTime: ago(72 * time.Hour)},
		Schedules: []view.Schedule{{Name: "nightly", State: "Closed", Until: ago(-22 * time.Hour)}}, Policy: &view.Policy{}}
	failed := view.Status{Last: &view.Upgrade{Name: "u", Type: "Reboot", Outcome: "Failed", EndTime: ago(time.Hour), Reason: "NodeFailed", Message: "worker-3 did not come back"}}
	worker := busy().Nodes[2]
	worker.Attempts, worker.OnHold, worker.Installed, worker.RetryTime = 2, true, []string{"v1.34.3", "v1.34.4"}, ago(-5*time.Minute)
	step := func(name v1alpha1.Step, began, ended time.Duration) v1alpha1.StepTime {
		s := v1alpha1.StepTime{Step: name, StartTime: metav1.NewMicroTime(now.Add(-began))}
		if ended > 0 {
			end := metav1.NewMicroTime(now.Add(-ended))
			s.EndTime = &end
		}
		return s
	}
	worker.Steps = []v1alpha1.StepTime{step("Locking", 13*time.Second, 12500*time.Millisecond), step("Cordoning", 12500*time.Millisecond, 12*time.Second), step("Draining", 12*time.Second, 0)}

	options := render.Options{Now: now, Zone: berlin}
	with := func(change func(*render.Options)) render.Options { o := options; change(&o); return o }
	for name, got := range map[string]string{
		"pipe":     render.Screen(busy(), options),
		"120":      render.Screen(busy(), with(func(o *render.Options) { o.Width = 120 })),
		"80":       render.Screen(busy(), with(func(o *render.Options) { o.Width = 80 })),
		"60":       render.Screen(busy(), with(func(o *render.Options) { o.Width = 60 })),
		"wide":     render.Screen(busy(), with(func(o *render.Options) { o.Wide = true })),
		"color":    render.Screen(busy(), with(func(o *render.Options) { o.Color = true })),
		"finished": render.Screen(finished, options),
		"failed":   render.Screen(failed, options),
		"node":     render.NodePage(worker, options),
		"node-60":  render.NodePage(worker, with(func(o *render.Options) { o.Width = 60 })),
	} {
		golden(t, name, got)
	}
}

// golden compares the screen with testdata/NAME.txt.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	text := strings.ReplaceAll(got, "\x1b", "<ESC>")
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// TestColorAddsNothing checks that a screen without its colors is the plain screen.
func TestColorAddsNothing(t *testing.T) {
	o := render.Options{Now: now, Zone: time.UTC, Width: 100}
	without := render.Screen(busy(), o)
	o.Color = true
	with := render.Screen(busy(), o)
	for _, code := range []string{"0", "1", "2", "31", "32", "38;5;130", "36"} {
		with = strings.ReplaceAll(with, "\x1b["+code+"m", "")
	}
	if diff := cmp.Diff(without, with); diff != "" {
		t.Errorf("the colored screen has other text (-without +with):\n%s", diff)
	}
}

func TestTransitions(t *testing.T) {
	before, after := busy(), busy()
	if got := render.Transitions(&before, after, now); len(got) > 0 {
		t.Errorf("without a change: got the transitions %q", got)
	}
	after.Nodes[2].Message = "one pod less"
	after.Nodes[3].Step, after.Nodes[3].Reason, after.Nodes[3].Message = "Locking", "Released", ""
	after.Nodes[3].Since = ago(2 * time.Second)
	after.Nodes = append(after.Nodes[:5], view.Node{Name: "worker-5", Message: "no agent has reported from this node"})
	after.Schedules[0].State = "Closed"
	after.Upgrade, after.Last = nil, &view.Upgrade{Name: "patch-v1.34.4", Type: "Patch", To: "v1.34.4", Outcome: "Failed"}
	want := []string{
		"2026-11-22T01:29:58Z node worker-2: Locking: Released",
		"2026-11-22T01:30:00Z upgrade patch-v1.34.4: Patch to v1.34.4, Failed",
		"2026-11-22T01:30:00Z schedule nightly: Closed",
		"2026-11-22T01:30:00Z node worker-5: -: no agent has reported from this node",
		"2026-11-22T01:30:00Z node worker-4: is gone",
	}
	if diff := cmp.Diff(want, render.Transitions(&before, after, now)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := render.Transitions(nil, view.Status{}, now); len(got) != 1 {
		t.Errorf("the first transitions of an empty cluster are %q, want one line", got)
	}
}

// TestStateOfEachStep checks that every step has a state: an unknown step would be shown as work.
func TestStateOfEachStep(t *testing.T) {
	for step, want := range map[v1alpha1.Step]view.State{
		"": view.StateUnknown, v1alpha1.StepIdle: view.StateDone, v1alpha1.StepStaging: view.StateWaiting, v1alpha1.StepWaiting: view.StateWaiting,
		v1alpha1.StepLocking: view.StateActive, v1alpha1.StepUnlocking: view.StateActive, v1alpha1.StepAborting: view.StateActive,
		v1alpha1.StepFailed: view.StateFailed, v1alpha1.StepRolledBack: view.StateFailed, v1alpha1.StepUnsupported: view.StateUnsupported,
	} {
		if got := view.StateOf(step); got != want {
			t.Errorf("%q: %s, want %s", step, got, want)
		}
	}
}

func TestRenderHasNoIOImports(t *testing.T) {
	pkg, err := build.ImportDir(".", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, forbidden := range []string{"os", "net", "io", "context", "golang.org/x/term"} {
		if slices.Contains(pkg.Imports, forbidden) {
			t.Errorf("render imports %s", forbidden)
		}
	}
	for _, imported := range pkg.Imports {
		if strings.HasPrefix(imported, "k8s.io/client-go") {
			t.Errorf("render imports %s", imported)
		}
	}
}
