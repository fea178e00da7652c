package hooks

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-upgrade/kubectl-upgrade/cmd/capi-extension/management"
	"github.com/kubectl-upgrade/kubectl-upgrade/cmd/capi-extension/progress"
)

// Reasons of events.
const (
	eventRefused = "InPlaceUpgradeRefused"
	eventWaits   = "InPlaceUpgradeWaits"
	eventAtWork  = "InPlaceUpgradeAtWork"
	eventStopped = "InPlaceUpgradeStopped"
	eventDone    = "InPlaceUpgradeDone"
)

// tellTimeout is how long it may take to write events. It counts beside the time for the answer, which a
// workload cluster that does not answer has used up.
const tellTimeout = time.Second

// tell records how far a Machine's node is, as events of the Machine and its owner.
func (e *Extension) tell(ctx context.Context, machine *clusterv1.Machine, verdict progress.Verdict) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tellTimeout)
	defer cancel()
	event := management.Event{Type: corev1.EventTypeNormal, Reason: eventWaits, Message: verdict.Message}
	switch verdict.State {
	case progress.Done:
		event.Reason = eventDone
	case progress.AtWork:
		event.Reason = eventAtWork
	case progress.Stopped:
		event.Type, event.Reason = corev1.EventTypeWarning, eventStopped
	}
	about := []client.Object{machine}
	if owner, err := management.OwnerOf(ctx, e.Management, machine); err == nil {
		about = append(about, owner.Object)
	}
	e.record(ctx, event, about...)
}

// tellRefused records why a Machine or MachineSet is not updated in place, as events of it and its owner:
// Cluster API itself writes that only to its log.
func (e *Extension) tellRefused(ctx context.Context, err error, about client.Object, owner management.Owner) {
	event := management.Event{Type: corev1.EventTypeWarning, Reason: eventRefused, Message: e.sentence(ctx, err)}
	if refused := (refusal{}); errors.As(err, &refused) && refused.waits {
		event.Type, event.Reason = corev1.EventTypeNormal, eventWaits
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tellTimeout)
	defer cancel()
	e.record(ctx, event, about, owner.Object)
}

func (e *Extension) record(ctx context.Context, event management.Event, about ...client.Object) {
	if err := management.Record(ctx, e.Management, event, e.Now(), about...); err != nil {
		e.Log.WarnContext(ctx, "an event is not written", "error", err)
	}
}
