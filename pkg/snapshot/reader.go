// Package snapshot reads a cluster into a plan.Snapshot.
//
// It promises that a Reader's snapshot is taken from watches alone, in memory,
// whatever the size of the cluster, that a change which no plan looks at (a
// kubelet's heartbeat) wakes nobody, and that Read, which lists, finds the same.
// ReadPreflight reads what the checks look at besides, on demand: what is told by
// no plan is not kept.
package snapshot

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/client"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/slot"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/staticpod"
)

// How kubeadm labels its static pods.
const (
	systemNamespace = "kube-system"
	componentLabel  = "component"
	apiServer       = "kube-apiserver"
	etcdMember      = "etcd"
)

// controlPlanePods selects apiservers and etcd members.
const controlPlanePods = componentLabel + " in (" + apiServer + "," + etcdMember + ")"

// Reader keeps what a plan looks at up to date by watches.
type Reader struct {
	nodes, pods, leases, daemonSets   cache.SharedIndexInformer
	schedules, upgrades, nodeUpgrades cache.SharedIndexInformer
	validating, mutating, backends    cache.SharedIndexInformer
}

// NewReader makes the informers. onChange is called, from several goroutines,
// whenever a plan may come out differently.
func NewReader(kube kubernetes.Interface, ours *client.Interface, onChange func()) (*Reader, error) {
	everywhere := informers.NewSharedInformerFactory(kube, 0)
	r := &Reader{
		nodes: everywhere.Core().V1().Nodes().Informer(),
		pods: narrowed(kube, systemNamespace, controlPlanePods).
			Core().V1().Pods().Informer(),
		daemonSets:   everywhere.Apps().V1().DaemonSets().Informer(),
		leases:       narrowed(kube, v1alpha1.Namespace, slot.LabelSelector).Coordination().V1().Leases().Informer(),
		schedules:    ours.MaintenanceSchedules.Informer(""),
		upgrades:     ours.ClusterUpgrades.Informer(""),
		nodeUpgrades: ours.NodeUpgrades.Informer(""),
		validating:   everywhere.Admissionregistration().V1().ValidatingWebhookConfigurations().Informer(),
		mutating:     everywhere.Admissionregistration().V1().MutatingWebhookConfigurations().Informer(),
		backends:     everywhere.Discovery().V1().EndpointSlices().Informer(),
	}
	if err := r.backends.AddIndexers(byService); err != nil {
		return nil, fmt.Errorf("preparing a watch: %w", err)
	}
	for _, informer := range r.informers() {
		if err := informer.SetTransform(trim); err != nil {
			return nil, fmt.Errorf("preparing a watch: %w", err)
		}
		if _, err := informer.AddEventHandler(r.handler(onChange)); err != nil {
			return nil, fmt.Errorf("preparing a watch: %w", err)
		}
	}
	return r, nil
}

func narrowed(kube kubernetes.Interface, namespace, selector string) informers.SharedInformerFactory {
	return informers.NewSharedInformerFactoryWithOptions(kube, 0, informers.WithNamespace(namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = selector }))
}

func (r *Reader) informers() []cache.SharedIndexInformer {
	return []cache.SharedIndexInformer{
		r.nodes, r.pods, r.leases, r.daemonSets, r.schedules, r.upgrades, r.nodeUpgrades, r.validating, r.mutating, r.backends,
	}
}

// Start begins to watch, and returns when everything has been read once. False:
// ctx ended before.
func (r *Reader) Start(ctx context.Context) bool {
	var synced []cache.InformerSynced
	for _, informer := range r.informers() {
		go informer.RunWithContext(ctx)
		synced = append(synced, informer.HasSynced)
	}
	return cache.WaitForCacheSync(ctx.Done(), synced...)
}

// trim drops what nobody here looks at and what makes up most of an object.
func trim(object any) (any, error) {
	if accessor, err := meta.Accessor(object); err == nil {
		accessor.SetManagedFields(nil)
	}
	switch o := object.(type) {
	case *corev1.Node:
		*o = trimNode(o)
	case *discoveryv1.EndpointSlice:
		*o = trimSlice(o)
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		*o = trimValidating(o)
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		*o = trimMutating(o)
	case *appsv1.DaemonSet:
		*o = trimDaemonSet(o)
	}
	return object, nil
}

func (r *Reader) handler(onChange func()) cache.ResourceEventHandler {
	tell := func(object any) {
		if r.counts(object) {
			onChange()
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    tell,
		DeleteFunc: tell,
		UpdateFunc: func(before, after any) {
			if !reflect.DeepEqual(essence(before), essence(after)) {
				tell(after)
			}
		},
	}
}

// essence is what plans look at.
func essence(object any) any {
	switch o := object.(type) {
	case *corev1.Node:
		return []any{Node(o), fluoMarks(o)}
	case *appsv1.DaemonSet:
		return []any{o.Annotations, ownLock(o), runsFLUO(o)}
	case *discoveryv1.EndpointSlice:
		return o.Endpoints
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		return o.Webhooks
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		return o.Webhooks
	case *corev1.Pod:
		return []any{o.Labels, o.Spec.NodeName, staticpod.Version(o), staticpod.Ready(o), staticpod.Is(o)}
	case metav1.Object:
		return o.GetResourceVersion()
	}
	return object
}

// Snapshot is the cluster as it is known now. The caller must not change what
// the snapshot points to.
func (r *Reader) Snapshot() plan.Snapshot {
	var s plan.Snapshot
	nodes := sorted[*corev1.Node](r.nodes)
	for _, n := range nodes {
		s.Nodes = append(s.Nodes, Node(n))
	}
	s.RebootManagers = RebootManagers(nodes, sorted[*appsv1.DaemonSet](r.daemonSets))
	for _, one := range sorted[*v1alpha1.NodeUpgrade](r.nodeUpgrades) {
		s.NodeUpgrades = append(s.NodeUpgrades, *one)
	}
	for _, one := range sorted[*v1alpha1.ClusterUpgrade](r.upgrades) {
		s.Upgrades = append(s.Upgrades, *one)
	}
	for _, one := range sorted[*v1alpha1.MaintenanceSchedule](r.schedules) {
		s.Schedules = append(s.Schedules, *one)
	}
	for _, lease := range sorted[*coordinationv1.Lease](r.leases) {
		s.Slots = append(s.Slots, Slot(lease))
	}
	s.APIServers, s.Etcd = staticPods(sorted[*corev1.Pod](r.pods))
	s.Webhooks = r.webhooks()
	return s
}

// Slot is what counts of a slot's Lease.
func Slot(lease *coordinationv1.Lease) plan.Slot {
	one, err := slot.FromLease(lease)
	return plan.Slot{Name: one.Name, ReservedFor: one.ReservedFor, Holder: one.Holder, Unreadable: err != nil}
}

// MarkedNodes are the Nodes that say they hold a slot.
func (r *Reader) MarkedNodes() []*corev1.Node {
	var marked []*corev1.Node
	for _, n := range sorted[*corev1.Node](r.nodes) {
		if n.Annotations[v1alpha1.SlotAnnotation] != "" {
			marked = append(marked, n)
		}
	}
	return marked
}

// sorted lists what an informer knows by name, so that equal clusters give
// equal snapshots.
func sorted[T metav1.Object](informer cache.SharedIndexInformer) []T {
	var list []T
	for _, object := range informer.GetStore().List() {
		if one, ok := object.(T); ok {
			list = append(list, one)
		}
	}
	slices.SortFunc(list, func(a, b T) int { return strings.Compare(a.GetName(), b.GetName()) })
	return list
}
