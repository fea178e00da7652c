package kube

import (
	"context"
	"math/rand/v2"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/ptr"
)

// Resource reads and writes the objects of one kind.
type Resource[T, L any] interface {
	Create(ctx context.Context, object T, options metav1.CreateOptions) (T, error)
	Update(ctx context.Context, object T, options metav1.UpdateOptions) (T, error)
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
	Get(ctx context.Context, name string, options metav1.GetOptions) (T, error)
	List(ctx context.Context, options metav1.ListOptions) (L, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
	Patch(ctx context.Context, name string, kind types.PatchType, data []byte, options metav1.PatchOptions, subresources ...string) (T, error)
}

// The kinds, each with its client.
//
//nolint:revive // one comment for all
type (
	Nodes      = Resource[*corev1.Node, *corev1.NodeList]
	Pods       = Resource[*corev1.Pod, *corev1.PodList]
	ConfigMaps = Resource[*corev1.ConfigMap, *corev1.ConfigMapList]
	DaemonSets = Resource[*appsv1.DaemonSet, *appsv1.DaemonSetList]
	Leases     = Resource[*coordinationv1.Lease, *coordinationv1.LeaseList]
	Budgets    = Resource[*policyv1.PodDisruptionBudget, *policyv1.PodDisruptionBudgetList]
	Claims     = Resource[*corev1.PersistentVolumeClaim, *corev1.PersistentVolumeClaimList]

	VolumeAttachments = Resource[*storagev1.VolumeAttachment, *storagev1.VolumeAttachmentList]
	CSINodes          = Resource[*storagev1.CSINode, *storagev1.CSINodeList]
	CSIDrivers        = Resource[*storagev1.CSIDriver, *storagev1.CSIDriverList]
)

// Interface has a client for each kind. *Clientset implements it.
type Interface interface {
	Nodes() Nodes
	Pods(namespace string) Pods
	ConfigMaps(namespace string) ConfigMaps
	DaemonSets(namespace string) DaemonSets
	Leases(namespace string) Leases
	PodDisruptionBudgets(namespace string) Budgets
	PersistentVolumeClaims(namespace string) Claims
	VolumeAttachments() VolumeAttachments
	CSINodes() CSINodes
	CSIDrivers() CSIDrivers
	// Evict evicts the pod that the Eviction names.
	Evict(ctx context.Context, eviction *policyv1.Eviction) error
	// Events returns where a record.EventBroadcaster sends events of all namespaces.
	Events() record.EventSink
}

// watchSeconds returns how long a watch lasts: one to two hours. An informer's own five to ten
// minutes are most of the requests of an agent at rest. A connection that is dead is noticed
// by HTTP/2's pings.
func watchSeconds() int64 {
	const shortest = 60 * 60
	return shortest + rand.Int64N(shortest) //nolint:gosec // no secret
}

// MostRecent has an informer's first list show what is stored now. By default it may be as old as the
// cache of the API server that answers: it may lack what was created since, and show what was deleted.
// Without a limit, the API server still answers from its cache, once that is as new as etcd.
func MostRecent(options *metav1.ListOptions) {
	if options.ResourceVersion == "0" {
		options.ResourceVersion, options.Limit = "", 0
	}
}

// Informer returns an informer for those objects of a kind that narrow selects. Its first list is the
// most recent.
func Informer[T, L runtime.Object](r Resource[T, L], kind T, narrow func(*metav1.ListOptions)) cache.SharedIndexInformer {
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			MostRecent(&options)
			narrow(&options)
			return r.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			narrow(&options)
			options.TimeoutSeconds = ptr.To(watchSeconds())
			return r.Watch(ctx, options)
		},
	}
	return cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(source, r), kind, 0, cache.Indexers{})
}
