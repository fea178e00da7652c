package agent

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/drain"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
)

// drainSense knows how far the drain is, and which volumes are still attached.
type drainSense struct {
	*Config
	drainer *drain.Drainer
	pods    podWatch
	drained *machine.Drain
	ending  []types.UID // the pods that the last round of evictions left, if all of them were evicted
	volumes *machine.Volumes
	// daemonSets are those that the rules found last; nil: they did not look.
	daemonSets map[types.NamespacedName]bool
}

func (d *drainSense) watch(wakeUp func()) {
	d.pods.begin = func(ctx context.Context) (cache.Store, func() bool, func()) { return d.watchPods(ctx, wakeUp) }
}

// add adds what the last round and the last look have found.
func (d *drainSense) add(r *round) { r.Drain, r.Volumes = d.drained, d.volumes }

// begin forgets what an earlier drain has found.
func (d *drainSense) begin() {
	d.drained, d.ending, d.volumes = nil, nil, nil
	d.drainer.Begin(d.daemonSets)
}

// watchIfNeeded watches the node's pods while a step needs them: those that are evicted, and those of
// a control plane.
func (d *drainSense) watchIfNeeded(ctx context.Context, r *round) {
	if r.state.Step == v1alpha1.StepDraining || r.controlPlane && machine.NeedsHealth(r.state, r.Observation) {
		d.pods.start(ctx)
		return
	}
	d.pods.end()
}

// roundDue reports whether it is time for another round of evictions.
func (d *drainSense) roundDue(now time.Time) bool {
	if d.drained == nil {
		return true
	}
	pause := betweenRounds
	if len(d.ending) > 0 {
		pause = betweenLooks
	}
	age := now.Sub(d.drained.At)
	return age < 0 || age >= pause
}

// round evicts pods. Once those have gone that the last round evicted, it only looks whether any are left.
func (d *drainSense) round(ctx context.Context, action machine.Action, r *round) error {
	ctx, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	d.ending = nil
	if r.onlyLooks {
		drained, err := d.drainer.Drained(ctx, r.Spec.Drain)
		if drained {
			d.drained = &machine.Drain{At: d.Now(), Message: "drained"}
		}
		return err
	}
	progress, err := d.drainer.Round(ctx, r.Spec.Drain, drain.Means{Disrupt: action.Disrupt, Delete: action.Delete})
	if err != nil {
		return err
	}
	d.ending = progress.Ending
	d.drained = &machine.Drain{At: d.Now(), Left: progress.Left, Blocked: progress.Blocked, Message: progress.Message}
	return progress.Refused
}

// look looks which volumes of the node are still attached. What cannot be read may be.
func (d *drainSense) look(ctx context.Context, r *round) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	attached, err := d.drainer.Attached(ctx, r.node, r.Spec.Drain, r.state.AttachedVolumes)
	d.volumes = &machine.Volumes{At: d.Now(), Attached: attached}
	if err != nil {
		d.volumes.Problem = err.Error()
	}
	return err
}

// podWatch watches the node's own pods, as the kubelet, which may watch no others.
type podWatch struct {
	store  cache.Store // nil: nothing is watched
	synced func() bool
	stop   func()
	// begin begins the watch. A nil store: it has not begun.
	begin func(ctx context.Context) (store cache.Store, synced func() bool, stop func())
}

func (w *podWatch) start(ctx context.Context) {
	if w.store == nil {
		w.store, w.synced, w.stop = w.begin(ctx)
	}
}

func (w *podWatch) end() {
	if w.store != nil {
		w.stop()
		*w = podWatch{begin: w.begin}
	}
}

// gone reports whether the watch shows none of these pods any more.
func (w *podWatch) gone(pods []types.UID) bool {
	return len(pods) > 0 && w.store != nil && w.synced() && !slices.ContainsFunc(w.store.List(), func(object any) bool {
		return slices.Contains(pods, object.(*corev1.Pod).UID)
	})
}

// watchPods begins a watch of the node's pods, which wakes the loop.
func (d *drainSense) watchPods(ctx context.Context, wakeUp func()) (store cache.Store, synced func() bool, stop func()) {
	ctx, stop = context.WithCancel(ctx)
	informer := kube.Informer(d.Kubelet.Pods(metav1.NamespaceAll), &corev1.Pod{}, func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", d.Node).String()
	})
	// Only the pods' identity is needed.
	_ = informer.SetTransform(func(object any) (any, error) {
		if pod, ok := object.(*corev1.Pod); ok {
			return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion}}, nil
		}
		return object, nil
	})
	onEvents(informer, wakeUp)
	go informer.RunWithContext(ctx)
	return informer.GetStore(), informer.HasSynced, stop
}
