package agent

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
)

// Recorder records events on one Node.
type Recorder struct {
	events record.EventRecorder
	node   corev1.ObjectReference
}

// NewRecorder returns a Recorder that records to sink as component until ctx ends. It sends
// events in the background, and retries while the API server is unavailable.
//
// A node's upgrade has more events in a short time than client-go allows by default: 25
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
