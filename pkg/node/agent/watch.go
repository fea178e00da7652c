package agent

import (
	"context"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// watch creates the informers, each as narrow as possible, so that nodes do not watch each
// other.
func (a *Agent) watch() {
	a.nodeUpgrades = a.Upgrades.NodeUpgrades.Informer(a.Node)
	a.inventories = a.Upgrades.NodeInventories.Informer(a.Node)
	a.nodes = kube.Informer(a.Kubelet.Nodes(), &corev1.Node{}, func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, a.Node).String()
	})
	a.leases = newSlotWatch()
	a.leases.start = a.watchSlots
	for _, informer := range a.watches() {
		_ = informer.SetTransform(trim) // an informer refuses it only after it has started
		addKick(informer, a.wakeUp)
	}
}

// trim removes what the agent never reads: the kubelet lists up to 50 images in its Node.
func trim(object any) (any, error) {
	if o, ok := object.(metav1.Object); ok {
		o.SetManagedFields(nil)
	}
	if node, ok := object.(*corev1.Node); ok {
		node.Status.Images = nil
	}
	return object, nil
}

func (a *Agent) watches() []cache.SharedIndexInformer {
	return []cache.SharedIndexInformer{a.nodeUpgrades, a.inventories, a.nodes}
}

// startWatches starts the informers and waits for their caches. It returns false if ctx
// ended first.
func (a *Agent) startWatches(ctx context.Context) bool {
	var synced []cache.InformerSynced
	for _, informer := range a.watches() {
		go informer.RunWithContext(ctx)
		synced = append(synced, informer.HasSynced)
	}
	return cache.WaitForCacheSync(ctx.Done(), synced...)
}

// addKick calls kick on each event. An informer refuses handlers only after it has stopped.
func addKick(informer cache.SharedIndexInformer, kick func()) {
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { kick() },
		UpdateFunc: func(any, any) { kick() },
		DeleteFunc: func(any) { kick() },
	})
}

// watchHost kicks when a unit on the host changes. The bus may be unreachable.
func (a *Agent) watchHost(ctx context.Context) {
	for ctx.Err() == nil {
		changes, err := a.Host.Changes(ctx)
		if err != nil {
			a.Log.WarnContext(ctx, "watching the host's units", "node", a.Node, "error", err)
			sleep(ctx, maxPause)
			continue
		}
		for change := range changes {
			if change.Verb == verb.Kubeadm {
				a.kubeadm.wakeUp()
			}
			if change.UpdateEngine || change.Verb == verb.Facts {
				a.engine.ask.Store(true)
			}
			a.wakeUp()
		}
		sleep(ctx, afterError)
	}
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// podWatch watches the node's own pods, as the kubelet, which may watch no others.
type podWatch struct {
	cancel  context.CancelFunc
	podGone atomic.Bool // a pod has gone since the last round
}

func (w *podWatch) start(ctx context.Context, kubelet kube.Interface, node string, kick func()) {
	if w.cancel != nil {
		return
	}
	ctx, w.cancel = context.WithCancel(ctx)
	informer := kube.Informer(kubelet.Pods(metav1.NamespaceAll), &corev1.Pod{}, func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", node).String()
	})
	// Only the pods' identity is needed.
	_ = informer.SetTransform(func(object any) (any, error) {
		if pod, ok := object.(*corev1.Pod); ok {
			return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion}}, nil
		}
		return object, nil
	})
	addKick(informer, kick)
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: func(any) { w.podGone.Store(true); kick() }})
	go informer.RunWithContext(ctx)
}

func (w *podWatch) stop() {
	if w.cancel != nil {
		w.cancel()
		w.cancel = nil
	}
}

var _ Host = (*host.Client)(nil)
