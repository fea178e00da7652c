package sim

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// recorded are the events that programs recorded, by object.
type recorded struct {
	record.FakeRecorder
	sync.Mutex
	reasons map[string][]string
}

// Event implements record.EventRecorder.
func (r *recorded) Event(object runtime.Object, _, reason, _ string) {
	r.Lock()
	defer r.Unlock()
	if r.reasons == nil {
		r.reasons = map[string][]string{}
	}
	about := object.(*corev1.ObjectReference)
	name := about.Kind + " " + about.Name
	r.reasons[name] = append(r.reasons[name], reason)
}

// agentLog is the log of a node's agent, which has every step that the node enters.
type agentLog struct {
	slog.Handler
	entered func(step v1alpha1.Step)
}

// agentLog returns the log of the agent of that node.
func (w *world) agentLog(node string) *slog.Logger {
	return slog.New(agentLog{slog.DiscardHandler, func(step v1alpha1.Step) { w.entered(node, step) }})
}

// Enabled implements slog.Handler.
func (agentLog) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

// Handle implements slog.Handler.
func (l agentLog) Handle(_ context.Context, r slog.Record) error {
	step, found := strings.CutPrefix(r.Message, "step ")
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "from" {
			found = found && a.Value.String() != ""
		}
		return true
	})
	if found {
		l.entered(v1alpha1.Step(step))
	}
	return nil
}

// TestEventsOfRollout counts the events of a rollout, and of one whose drain is blocked for
// long: there are as many as steps that people want to read of, and none for each round of a loop.
func TestEventsOfRollout(t *testing.T) {
	for name, test := range map[string]struct {
		change      func(*script)
		perNode     int // at most
		ofUpgrade   int // at most
		wantReasons []string
	}{
		"plain": {func(*script) {}, 7, 6, []string{"Triggered", "Finished"}},
		"a drain that is blocked": {func(s *script) {
			s.Faults = []fault{{At: time.Minute, Kind: "drain blocked", Who: "w1", For: 10 * time.Minute}}
		}, 20, 12, nil},
		"a window that opens later": {func(s *script) { s.Opens, s.Closes = 5*time.Minute, 2*time.Hour }, 7, 7, []string{"WindowClosed"}},
		"an image that is broken":   {func(s *script) { s.Broken = map[string]string{"w1": imageNotReady} }, 7, 6, []string{"NodeFailed"}},
		"one node at a time":        {func(s *script) { s.Budget = 1 }, 7, 6, []string{"Finished"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := plain()
			s.ControlPlanes, s.Workers, s.Budget, s.Lasts = 3, 8, 2, time.Hour
			test.change(&s)
			result := simulate(t, s, false)
			if result.failure != "" {
				t.Fatal(result.failure)
			}
			r := result.events
			all := 0
			for _, object := range slices.Sorted(maps.Keys(r.reasons)) {
				reasons := r.reasons[object]
				all += len(reasons)
				limit := test.perNode
				if !strings.HasPrefix(object, "Node ") {
					limit = test.ofUpgrade
					t.Logf("%s: %d: %s", object, len(reasons), strings.Join(reasons, " "))
				}
				if object == "Node w1" || len(reasons) > limit {
					t.Logf("%s: %d: %s", object, len(reasons), strings.Join(reasons, " "))
				}
				if len(reasons) > limit {
					t.Errorf("%s has %d events, want at most %d", object, len(reasons), limit)
				}
			}
			t.Logf("%d events for %d nodes", all, s.ControlPlanes+s.Workers)
			for _, want := range test.wantReasons {
				if !strings.Contains(fmt.Sprint(r.reasons), want) {
					t.Errorf("no event %s", want)
				}
			}
		})
	}
}
