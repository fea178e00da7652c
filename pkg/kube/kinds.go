package kube

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Object is an object of one of the project's kinds.
type Object interface {
	runtime.Object
	metav1.Object
}

// List is a list of objects of one of the project's kinds.
type List interface {
	runtime.Object
	metav1.ListInterface
}

// Kind reads and writes the objects of one of the project's kinds.
type Kind[T Object, L List] struct {
	*gentype.ClientWithList[T, L]
	kind, resource string
	codec          runtime.ParameterCodec
	empty          func() T
	emptyList      func() L
}

// Kinds has a client for each of the project's kinds. It has no cache, does not retry and makes
// no decisions.
type Kinds struct {
	MaintenanceSchedules Kind[*v1alpha1.MaintenanceSchedule, *v1alpha1.MaintenanceScheduleList]
	UpgradePolicies      Kind[*v1alpha1.UpgradePolicy, *v1alpha1.UpgradePolicyList]
	ClusterUpgrades      Kind[*v1alpha1.ClusterUpgrade, *v1alpha1.ClusterUpgradeList]
	NodeUpgrades         Kind[*v1alpha1.NodeUpgrade, *v1alpha1.NodeUpgradeList]
	UpgradeRecords       Kind[*v1alpha1.UpgradeRecord, *v1alpha1.UpgradeRecordList]
	NodeInventories      Kind[*v1alpha1.NodeInventory, *v1alpha1.NodeInventoryList]
	CoordinatorStates    Kind[*v1alpha1.CoordinatorState, *v1alpha1.CoordinatorStateList]
}

// NewKinds returns clients for the API server that config names.
func NewKinds(config *rest.Config) (*Kinds, error) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.APIPath = "/apis"
	config.GroupVersion = &v1alpha1.GroupVersion
	if config.NegotiatedSerializer == nil {
		config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	}
	if config.UserAgent == "" {
		config.UserAgent = rest.DefaultKubernetesUserAgent() // as in the other clients, for the audit log
	}
	config.ContentType = runtime.ContentTypeJSON
	config.AcceptContentTypes = runtime.ContentTypeJSON
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("making a client for %s: %w", v1alpha1.GroupVersion, err)
	}
	codec := runtime.NewParameterCodec(scheme)
	return &Kinds{
		MaintenanceSchedules: kindOf[v1alpha1.MaintenanceSchedule, v1alpha1.MaintenanceScheduleList](client, codec, v1alpha1.MaintenanceSchedules.Resource, "MaintenanceSchedule"),
		UpgradePolicies:      kindOf[v1alpha1.UpgradePolicy, v1alpha1.UpgradePolicyList](client, codec, v1alpha1.UpgradePolicies.Resource, "UpgradePolicy"),
		ClusterUpgrades:      kindOf[v1alpha1.ClusterUpgrade, v1alpha1.ClusterUpgradeList](client, codec, v1alpha1.ClusterUpgrades.Resource, "ClusterUpgrade"),
		NodeUpgrades:         kindOf[v1alpha1.NodeUpgrade, v1alpha1.NodeUpgradeList](client, codec, v1alpha1.NodeUpgrades.Resource, "NodeUpgrade"),
		UpgradeRecords:       kindOf[v1alpha1.UpgradeRecord, v1alpha1.UpgradeRecordList](client, codec, v1alpha1.UpgradeRecords.Resource, "UpgradeRecord"),
		NodeInventories:      kindOf[v1alpha1.NodeInventory, v1alpha1.NodeInventoryList](client, codec, v1alpha1.NodeInventories.Resource, "NodeInventory"),
		CoordinatorStates:    kindOf[v1alpha1.CoordinatorState, v1alpha1.CoordinatorStateList](client, codec, v1alpha1.CoordinatorStates.Resource, "CoordinatorState"),
	}, nil
}

func kindOf[S, LS any, T object[S], L list[LS]](client rest.Interface, codec runtime.ParameterCodec, name, kind string) Kind[T, L] {
	one, none := func() T { return new(S) }, func() L { return new(LS) }
	return Kind[T, L]{
		ClientWithList: gentype.NewClientWithList[T, L](name, client, codec, metav1.NamespaceNone, one, none),
		kind:           kind,
		resource:       name,
		codec:          codec,
		empty:          one,
		emptyList:      none,
	}
}

// Apply writes the fields that are set in obj by server-side apply. It forces
// conflicts: the field manager takes over fields that another one owns. obj must have
// its name. subresource is "" or "status".
func (r Kind[T, L]) Apply(ctx context.Context, obj T, manager, subresource string) (T, error) {
	obj.GetObjectKind().SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(r.kind))
	data, err := json.Marshal(obj)
	if err != nil {
		return obj, fmt.Errorf("encoding %s: %w", obj.GetName(), err)
	}
	force := true
	options := metav1.PatchOptions{FieldManager: manager, Force: &force}
	var subresources []string
	if subresource != "" {
		subresources = []string{subresource}
	}
	return r.Patch(ctx, obj.GetName(), types.ApplyPatchType, data, options, subresources...)
}

// Informer returns an informer for all objects of the kind or, if name is not empty,
// for the object of that name only, so that an agent watches nothing but its own
// object.
func (r Kind[T, L]) Informer(name string) cache.SharedIndexInformer {
	return Informer(r.ClientWithList, r.empty(), func(options *metav1.ListOptions) {
		if name != "" {
			options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
		}
	})
}
