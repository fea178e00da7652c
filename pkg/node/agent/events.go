package agent

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Transition is a node's change from one step to the next.
type Transition struct {
	Node    string
	Upgrade string
	Version string
	From    v1alpha1.Step
	To      v1alpha1.Step
	Reason  v1alpha1.Reason
	Message string
	// Took is how long From lasted.
	Took time.Duration
}

// Event is an event on an object.
type Event struct {
	Type    string // Normal or Warning
	Reason  string
	Message string
}

// StepEvent returns the event of a transition. Its reason is Upgrade and the step, so that
// a field selector can select it:
//
//	kubectl get events --field-selector reason=UpgradeDraining
func StepEvent(t Transition) Event {
	e := Event{Type: corev1.EventTypeNormal, Reason: "Upgrade" + string(t.To), Message: "the node " + t.To.Info().Doing}
	if t.warning() {
		e.Type = corev1.EventTypeWarning
	}
	if t.Version != "" {
		e.Message = t.Version + ": " + e.Message
	}
	if t.Reason != "" {
		e.Message += fmt.Sprintf(" (%s: %s)", t.Reason, t.Message)
	}
	return e
}

// Log logs the transition, as a warning if the step is one of a failure.
func (t Transition) Log(ctx context.Context, log *slog.Logger) {
	level := slog.LevelInfo
	if t.warning() {
		level = slog.LevelWarn
	}
	log.LogAttrs(ctx, level, "step "+string(t.To),
		slog.String("node", t.Node), slog.String("upgrade", t.Upgrade), slog.String("version", t.Version),
		slog.String("from", string(t.From)), slog.Duration("took", t.Took.Round(time.Millisecond)),
		slog.String("reason", string(t.Reason)), slog.String("message", t.Message))
}

func (t Transition) warning() bool {
	return t.To == v1alpha1.StepAborting || t.To.Info().Phase == v1alpha1.PhaseStopped
}

// Recorder records events on one Node.
type Recorder struct {
	events record.EventRecorder
	node   corev1.ObjectReference
}

// NewRecorder returns a Recorder that records to sink as component until ctx ends. It sends
// events in the background, and retries while the API server is unavailable.
//
// A node whose attempts fail has more events in a short time than client-go allows by default: 25
// for each object, then one in five minutes.
func NewRecorder(ctx context.Context, sink record.EventSink, component, node string) *Recorder {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx), record.WithCorrelatorOptions(record.CorrelatorOptions{
		BurstSize: 200, QPS: 1, MaxEvents: 100,
	}))
	broadcaster.StartRecordingToSink(sink)
	context.AfterFunc(ctx, broadcaster.Shutdown)
	scheme := runtime.NewScheme()
	return RecorderTo(broadcaster.NewRecorder(scheme, corev1.EventSource{Component: component, Host: node}), node)
}

// RecorderTo returns a Recorder that passes the node's events to another recorder.
func RecorderTo(events record.EventRecorder, node string) *Recorder {
	return &Recorder{events: events, node: corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: node}}
}

// Record records e on the Node with that UID, by which `kubectl describe node` finds
// events.
func (r *Recorder) Record(uid string, e Event) {
	node := r.node
	node.UID = types.UID(uid)
	r.events.Event(&node, e.Type, e.Reason, e.Message)
}
