package observe

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Transition is a node's way from one step to the next.
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

// Event is what is recorded on an object.
type Event struct {
	Type    string // Normal or Warning
	Reason  string
	Message string
}

// StepEvent is the event of a transition. Its reason is Upgrade and the step,
// so that each step can be asked for by name:
//
//	kubectl get events --field-selector reason=UpgradeDraining
func StepEvent(t Transition) Event {
	e := Event{Type: corev1.EventTypeNormal, Reason: "Upgrade" + string(t.To), Message: sentences[t.To]}
	if t.bad() {
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

// Log writes the line of a transition.
func (t Transition) Log(ctx context.Context, log *slog.Logger) {
	level := slog.LevelInfo
	if t.bad() {
		level = slog.LevelWarn
	}
	log.LogAttrs(ctx, level, "step "+string(t.To),
		slog.String("node", t.Node), slog.String("upgrade", t.Upgrade), slog.String("version", t.Version),
		slog.String("from", string(t.From)), slog.Duration("took", t.Took.Round(time.Millisecond)),
		slog.String("reason", string(t.Reason)), slog.String("message", t.Message))
}

func (t Transition) bad() bool {
	switch t.To {
	case v1alpha1.StepAborting, v1alpha1.StepFailed, v1alpha1.StepRolledBack:
		return true
	}
	return false
}

// sentences are what each step means to somebody who reads `kubectl describe
// node`.
var sentences = map[v1alpha1.Step]string{
	v1alpha1.StepIdle:         "nothing is left to do on this node",
	v1alpha1.StepStaging:      "the image is being staged",
	v1alpha1.StepWaiting:      "the node waits for its turn",
	v1alpha1.StepLocking:      "window and release are checked, the slot is taken",
	v1alpha1.StepSnapshotting: "a snapshot of etcd is taken before anything is touched",
	v1alpha1.StepKubeadm:      "kubeadm upgrade runs from the staged image",
	v1alpha1.StepChecking:     "the control plane's static pods become healthy",
	v1alpha1.StepCordoning:    "the node is being cordoned",
	v1alpha1.StepDraining:     "pods are asked to leave",
	v1alpha1.StepLastCheck:    "window, release and slot are checked for the last time",
	v1alpha1.StepActivating:   "the staged image is made the next boot's",
	v1alpha1.StepRebooting:    "the node reboots",
	v1alpha1.StepRestarting:   "the merged image is refreshed, the kubelet restarted",
	v1alpha1.StepVerifying:    "the node's kubelet is awaited",
	v1alpha1.StepSettling:     "the node is Ready; quiet time",
	v1alpha1.StepUncordoning:  "the cordon is being lifted",
	v1alpha1.StepUnlocking:    "the slot is being freed",
	v1alpha1.StepAborting:     "gives up for now and goes back into service",
	v1alpha1.StepFailed:       "needs somebody; keeps its slot",
	v1alpha1.StepRolledBack:   "the kubelet was taken back; keeps its slot",
	v1alpha1.StepUnsupported:  "Kubernetes does not come to this node as a sysext image",
}
