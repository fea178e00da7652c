package snapshot

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/pager"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules/rebootmanager"
)

// How kubeadm labels its static pods.
const (
	systemNamespace = "kube-system"
	componentLabel  = "component"
	apiServer       = "kube-apiserver"
	etcdMember      = "etcd"
	manager         = "kube-controller-manager"
	scheduler       = "kube-scheduler"
)

// controlPlanePods selects the pods of the control plane.
const controlPlanePods = componentLabel + " in (" + apiServer + "," + etcdMember + "," + manager + "," + scheduler + ")"

// Reader keeps the planner's input up to date by watches.
type Reader struct {
	nodes, pods, leases, daemonSets cache.SharedIndexInformer
	agents                          cache.SharedIndexInformer
	policies, schedules, upgrades   cache.SharedIndexInformer
	nodeUpgrades, inventories       cache.SharedIndexInformer
	records, states                 cache.SharedIndexInformer
	validating, mutating, backends  cache.SharedIndexInformer
	deleted                         deletions
}

// NewReader returns a Reader that does not watch yet. It will call onChange, from
// several goroutines, whenever a plan may come out differently.
func NewReader(clients kubernetes.Interface, ours *kube.Kinds, onChange func()) (*Reader, error) {
	everywhere := informers.NewSharedInformerFactoryWithOptions(clients, 0, informers.WithTweakListOptions(kube.MostRecent))
	r := &Reader{
		nodes: everywhere.Core().V1().Nodes().Informer(),
		pods: narrowed(clients, systemNamespace, controlPlanePods).
			Core().V1().Pods().Informer(),
		agents:       narrowed(clients, v1alpha1.Namespace, agentPods).Core().V1().Pods().Informer(),
		daemonSets:   everywhere.Apps().V1().DaemonSets().Informer(),
		leases:       narrowed(clients, v1alpha1.Namespace, "").Coordination().V1().Leases().Informer(),
		policies:     ours.UpgradePolicies.Informer(v1alpha1.PolicyName),
		schedules:    ours.MaintenanceSchedules.Informer(""),
		upgrades:     ours.ClusterUpgrades.Informer(""),
		nodeUpgrades: ours.NodeUpgrades.Informer(""),
		inventories:  ours.NodeInventories.Informer(""),
		records:      ours.UpgradeRecords.Informer(""),
		states:       ours.CoordinatorStates.Informer(v1alpha1.PolicyName),
		validating:   everywhere.Admissionregistration().V1().ValidatingWebhookConfigurations().Informer(),
		mutating:     everywhere.Admissionregistration().V1().MutatingWebhookConfigurations().Informer(),
		backends:     everywhere.Discovery().V1().EndpointSlices().Informer(),
	}
	if err := r.backends.AddIndexers(byService); err != nil {
		return nil, fmt.Errorf("preparing a watch: %w", err)
	}
	return r, r.prepare(onChange)
}

func (r *Reader) prepare(onChange func()) error {
	for _, informer := range r.informers() {
		if err := informer.SetTransform(trimmed); err != nil {
			return fmt.Errorf("preparing a watch: %w", err)
		}
		if _, err := informer.AddEventHandler(r.handler(onChange)); err != nil {
			return fmt.Errorf("preparing a watch: %w", err)
		}
	}
	return nil
}

// narrowed selects by labels. Leases are selected by their names, because a label may
// be lost.
func narrowed(clients kubernetes.Interface, namespace, selector string) informers.SharedInformerFactory {
	return informers.NewSharedInformerFactoryWithOptions(clients, 0, informers.WithNamespace(namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			kube.MostRecent(o)
			o.LabelSelector = selector
		}))
}

// informers returns those that there are: a Following has not all of them.
func (r *Reader) informers() []cache.SharedIndexInformer {
	all := []cache.SharedIndexInformer{
		r.nodes, r.pods, r.leases, r.daemonSets, r.agents,
		r.policies, r.schedules, r.upgrades, r.nodeUpgrades, r.inventories, r.records, r.states,
		r.validating, r.mutating, r.backends,
	}
	return slices.DeleteFunc(all, func(informer cache.SharedIndexInformer) bool { return informer == nil })
}

// Start begins to watch, and returns true when everything has been read once, or
// false when ctx ended before.
func (r *Reader) Start(ctx context.Context) bool {
	var synced []cache.InformerSynced
	for _, informer := range r.informers() {
		go informer.RunWithContext(ctx)
		synced = append(synced, informer.HasSynced)
	}
	return cache.WaitForCacheSync(ctx.Done(), synced...)
}

// trimmed adapts trim to informers.
func trimmed(object any) (any, error) {
	trim(object)
	return object, nil
}

// trim removes what no plan needs from an object.
func trim(object any) {
	if accessor, err := meta.Accessor(object); err == nil {
		accessor.SetManagedFields(nil)
	}
	switch o := object.(type) {
	case *corev1.Node:
		*o = trimNode(o)
	case *corev1.Pod:
		if isAgentPod(o) {
			*o = trimAgent(o)
		}
	case *discoveryv1.EndpointSlice:
		*o = trimSlice(o)
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		*o = trimValidating(o)
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		*o = trimMutating(o)
	case *appsv1.DaemonSet:
		*o = trimDaemonSet(o)
	case *v1alpha1.UpgradeRecord:
		*o = trimRecord(o)
	}
}

func (r *Reader) handler(onChange func()) cache.ResourceEventHandler {
	notify := func(object any) {
		if r.counts(object) {
			onChange()
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: notify,
		DeleteFunc: func(object any) {
			r.deleted.note(object)
			notify(object)
		},
		UpdateFunc: func(before, after any) {
			r.deleted.noteReplaced(before, after)
			if !reflect.DeepEqual(essence(before), essence(after)) {
				notify(after)
			}
		},
	}
}

// essence returns the part of an object that plans depend on.
func essence(object any) any {
	switch o := object.(type) {
	case *corev1.Node:
		return []any{Node(o), o.Spec.Unschedulable, rebootmanager.FLUOMarks(o)}
	case *appsv1.DaemonSet:
		return rebootmanager.Essence(o)
	case *discoveryv1.EndpointSlice:
		return o.Endpoints
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		return o.Webhooks
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		return o.Webhooks
	case *corev1.Pod:
		if isAgentPod(o) {
			return []any{o.Spec.NodeName, agentOf(o).problem}
		}
		return []any{o.Labels, o.Spec.NodeName, clusterstate.StaticPodVersion(o), clusterstate.PodReady(o), clusterstate.IsStaticPod(o)}
	case metav1.Object:
		return o.GetResourceVersion()
	}
	return object
}

// kinds reads several kinds at once. Unlike an errgroup it returns the same error every
// time, if several kinds cannot be read.
type kinds struct {
	running sync.WaitGroup
	errs    []*error
}

// Go reads one more kind.
func (k *kinds) Go(read func() error) {
	result := new(error)
	k.errs = append(k.errs, result)
	k.running.Go(func() {
		defer utilruntime.HandleCrash()
		*result = read()
	})
}

// Wait returns when all kinds have been read, with the error of the one that was begun
// first.
func (k *kinds) Wait() error {
	k.running.Wait()
	for _, err := range k.errs {
		if *err != nil {
			return *err
		}
	}
	return nil
}

// read lists all objects of a kind that the labels select, trimmed. They are in all when
// the kinds have been waited for.
func read[T any, L runtime.Object](ctx context.Context, k *kinds, all *[]T, kind string, page func(context.Context, metav1.ListOptions) (L, error), labels string) {
	k.Go(func() error { return list(ctx, all, kind, page, labels) })
}

// list is read, at once.
func list[T any, L runtime.Object](ctx context.Context, all *[]T, kind string, page func(context.Context, metav1.ListOptions) (L, error), labels string) (err error) {
	*all, err = listed(ctx, page, metav1.ListOptions{LabelSelector: labels}, func(object *T) T {
		trim(object)
		return *object
	})
	if err != nil {
		return &Unreadable{kind, err}
	}
	return nil
}

// readKind lists all objects of one of our kinds, as read does.
func readKind[S any, T object[S], L kube.List](ctx context.Context, k *kinds, all *[]S, kind string, of kube.Kind[T, L]) {
	k.Go(func() (err error) {
		*all, err = listKind(ctx, kind, of)
		return err
	})
}

// listKind is readKind, at once.
func listKind[S any, T object[S], L kube.List](ctx context.Context, kind string, of kube.Kind[T, L]) ([]S, error) {
	found, err := of.All(ctx, metav1.ListOptions{}, func(one T) T { trim(one); return one })
	if err != nil {
		return nil, &Unreadable{kind, err}
	}
	all := make([]S, len(found))
	for i := range found {
		all[i] = *found[i]
	}
	return all, nil
}

// object is an object of one of our kinds, by its pointer.
type object[S any] interface {
	*S
	kube.Object
}

// Unreadable is the error of a kind, or an object, that could not be read.
type Unreadable struct {
	What string
	Err  error
}

// Error is part of error.
func (u *Unreadable) Error() string { return "reading " + u.What + ": " + u.Err.Error() }

// Unwrap returns the API server's error.
func (u *Unreadable) Unwrap() error { return u.Err }

// Caches are the stores from which a Reader takes snapshots, but for those of webhooks,
// DaemonSets and agents' pods.
type Caches struct {
	Nodes, Pods, Leases                                  cache.Store
	Policies, Schedules, Upgrades, NodeUpgrades, Records cache.Store
	Inventories, States                                  cache.Store
}

// Caches returns the stores that the watches fill, for a caller that fills them itself.
func (r *Reader) Caches() Caches {
	return Caches{
		Nodes: r.nodes.GetStore(), Pods: r.pods.GetStore(), Leases: r.leases.GetStore(),
		Policies: r.policies.GetStore(), Schedules: r.schedules.GetStore(), Upgrades: r.upgrades.GetStore(),
		NodeUpgrades: r.nodeUpgrades.GetStore(), Records: r.records.GetStore(), Inventories: r.inventories.GetStore(),
		States: r.states.GetStore(),
	}
}

// listed lists all objects of a kind, page after page, and keeps of each what
// keep returns, because all of them in full may not fit into memory.
func listed[T, K any, L runtime.Object](ctx context.Context, page func(context.Context, metav1.ListOptions) (L, error), options metav1.ListOptions, keep func(*T) K) ([]K, error) {
	var all []K
	pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return page(ctx, options)
	})
	err := pages.EachListItem(ctx, options, func(object runtime.Object) error {
		all = append(all, keep(any(object).(*T)))
		return nil
	})
	return all, err
}
