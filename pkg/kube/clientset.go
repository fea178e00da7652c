package kube

import (
	"context"
	"fmt"
	"net/http"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/flowcontrol"
)

// Clientset implements Interface for an API server.
type Clientset struct {
	core, apps, coordination, policy, storage rest.Interface
}

// NewForConfig returns a Clientset whose clients share connections and the limits of config.
func NewForConfig(config *rest.Config) (*Clientset, error) {
	over, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	return NewForConfigAndClient(config, over)
}

// NewForConfigAndClient is NewForConfig over a given http.Client.
func NewForConfigAndClient(config *rest.Config, over *http.Client) (*Clientset, error) {
	config = rest.CopyConfig(config)
	if config.RateLimiter == nil && config.QPS > 0 {
		config.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(config.QPS, config.Burst)
	}
	if config.UserAgent == "" {
		config.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	if config.NegotiatedSerializer == nil {
		config.NegotiatedSerializer = codecs.WithoutConversion()
	}
	var c Clientset
	for group, client := range map[schema.GroupVersion]*rest.Interface{
		corev1.SchemeGroupVersion: &c.core, appsv1.SchemeGroupVersion: &c.apps, coordinationv1.SchemeGroupVersion: &c.coordination,
		policyv1.SchemeGroupVersion: &c.policy, storagev1.SchemeGroupVersion: &c.storage,
	} {
		config.GroupVersion, config.APIPath = &group, "/apis"
		if group.Group == corev1.GroupName {
			config.APIPath = "/api"
		}
		made, err := rest.RESTClientForConfigAndClient(config, over)
		if err != nil {
			return nil, fmt.Errorf("making a client for %s: %w", group, err)
		}
		*client = made
	}
	return &c, nil
}

// object is a pointer to the struct of a kind.
type object[S any] interface {
	*S
	runtime.Object
	metav1.Object
}

type list[S any] interface {
	*S
	List
}

func resource[S, LS any, T object[S], L list[LS]](client rest.Interface, name, namespace string) Resource[T, L] {
	return gentype.NewClientWithList(name, client, parameterCodec, namespace,
		func() T { return new(S) }, func() L { return new(LS) }, gentype.PrefersProtobuf[T]())
}

// Nodes returns a client for Nodes.
func (c *Clientset) Nodes() Nodes {
	return resource[corev1.Node, corev1.NodeList](c.core, "nodes", metav1.NamespaceNone)
}

// Pods returns a client for the Pods of a namespace, or of all namespaces if it is empty.
func (c *Clientset) Pods(namespace string) Pods {
	return resource[corev1.Pod, corev1.PodList](c.core, "pods", namespace)
}

// ConfigMaps returns a client for the ConfigMaps of a namespace.
func (c *Clientset) ConfigMaps(namespace string) ConfigMaps {
	return resource[corev1.ConfigMap, corev1.ConfigMapList](c.core, "configmaps", namespace)
}

// DaemonSets returns a client for the DaemonSets of a namespace, or of all namespaces if it
// is empty.
func (c *Clientset) DaemonSets(namespace string) DaemonSets {
	return resource[appsv1.DaemonSet, appsv1.DaemonSetList](c.apps, "daemonsets", namespace)
}

// Leases returns a client for the Leases of a namespace.
func (c *Clientset) Leases(namespace string) Leases {
	return resource[coordinationv1.Lease, coordinationv1.LeaseList](c.coordination, "leases", namespace)
}

// PodDisruptionBudgets returns a client for the PodDisruptionBudgets of a namespace.
func (c *Clientset) PodDisruptionBudgets(namespace string) Budgets {
	return resource[policyv1.PodDisruptionBudget, policyv1.PodDisruptionBudgetList](c.policy, "poddisruptionbudgets", namespace)
}

// PersistentVolumeClaims returns a client for the PersistentVolumeClaims of a namespace.
func (c *Clientset) PersistentVolumeClaims(namespace string) Claims {
	return resource[corev1.PersistentVolumeClaim, corev1.PersistentVolumeClaimList](c.core, "persistentvolumeclaims", namespace)
}

// VolumeAttachments returns a client for VolumeAttachments.
func (c *Clientset) VolumeAttachments() VolumeAttachments {
	return resource[storagev1.VolumeAttachment, storagev1.VolumeAttachmentList](c.storage, "volumeattachments", metav1.NamespaceNone)
}

// CSINodes returns a client for CSINodes.
func (c *Clientset) CSINodes() CSINodes {
	return resource[storagev1.CSINode, storagev1.CSINodeList](c.storage, "csinodes", metav1.NamespaceNone)
}

// CSIDrivers returns a client for CSIDrivers.
func (c *Clientset) CSIDrivers() CSIDrivers {
	return resource[storagev1.CSIDriver, storagev1.CSIDriverList](c.storage, "csidrivers", metav1.NamespaceNone)
}

// Evict evicts the pod that the Eviction names.
func (c *Clientset) Evict(ctx context.Context, eviction *policyv1.Eviction) error {
	return c.core.Post().Namespace(eviction.Namespace).Resource("pods").Name(eviction.Name).SubResource("eviction").
		Body(eviction).Do(ctx).Error()
}

// Events returns where a record.EventBroadcaster sends events of all namespaces.
func (c *Clientset) Events() record.EventSink { return events{c.core} }

// events is a record.EventSink.
type events struct{ client rest.Interface }

func (e events) Create(event *corev1.Event) (*corev1.Event, error) {
	return e.send(e.client.Post(), event.Namespace, event)
}

func (e events) Update(event *corev1.Event) (*corev1.Event, error) {
	return e.send(e.client.Put().Name(event.Name), event.Namespace, event)
}

func (e events) Patch(event *corev1.Event, data []byte) (*corev1.Event, error) {
	return e.send(e.client.Patch(types.StrategicMergePatchType).Name(event.Name), event.Namespace, data)
}

func (events) send(request *rest.Request, namespace string, body any) (*corev1.Event, error) {
	answer := &corev1.Event{}
	err := request.Namespace(namespace).Resource("events").Body(body).Do(context.Background()).Into(answer)
	return answer, err
}

// The scheme knows the kinds of Interface alone. Those packages' own AddToScheme would link
// all kinds of their groups.
var (
	scheme         = newScheme()
	codecs         = serializer.NewCodecFactory(scheme)
	parameterCodec = runtime.NewParameterCodec(scheme)
)

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for group, kinds := range map[schema.GroupVersion][]runtime.Object{
		corev1.SchemeGroupVersion: {
			&corev1.Node{}, &corev1.NodeList{}, &corev1.Pod{}, &corev1.PodList{},
			&corev1.ConfigMap{}, &corev1.ConfigMapList{}, &corev1.Event{}, &corev1.EventList{},
			&corev1.PersistentVolumeClaim{}, &corev1.PersistentVolumeClaimList{},
		},
		appsv1.SchemeGroupVersion:         {&appsv1.DaemonSet{}, &appsv1.DaemonSetList{}},
		coordinationv1.SchemeGroupVersion: {&coordinationv1.Lease{}, &coordinationv1.LeaseList{}},
		policyv1.SchemeGroupVersion:       {&policyv1.Eviction{}, &policyv1.PodDisruptionBudget{}, &policyv1.PodDisruptionBudgetList{}},
		storagev1.SchemeGroupVersion:      {&storagev1.VolumeAttachment{}, &storagev1.VolumeAttachmentList{}},
	} {
		s.AddKnownTypes(group, kinds...)
		metav1.AddToGroupVersion(s, group)
	}
	return s
}
