// Package client reads and writes our three kinds. It promises typed values
// and nothing else: no cache, no retry, no decision.
package client

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Object is one of our kinds.
type Object interface {
	runtime.Object
	metav1.Object
}

// Resource reads and writes the objects of one kind.
type Resource[T Object, L runtime.Object] struct {
	*gentype.ClientWithList[T, L]
	kind  string
	empty func() T
}

// Interface is the three kinds.
type Interface struct {
	MaintenanceSchedules Resource[*v1alpha1.MaintenanceSchedule, *v1alpha1.MaintenanceScheduleList]
	ClusterUpgrades      Resource[*v1alpha1.ClusterUpgrade, *v1alpha1.ClusterUpgradeList]
	NodeUpgrades         Resource[*v1alpha1.NodeUpgrade, *v1alpha1.NodeUpgradeList]
}

// New makes the clients for the API server that config names.
func New(config *rest.Config) (*Interface, error) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.APIPath = "/apis"
	config.GroupVersion = &v1alpha1.GroupVersion
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	config.ContentType = runtime.ContentTypeJSON
	config.AcceptContentTypes = runtime.ContentTypeJSON
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("making a client for %s: %w", v1alpha1.GroupVersion, err)
	}
	codec := runtime.NewParameterCodec(scheme)
	return &Interface{
		MaintenanceSchedules: resource(client, codec, v1alpha1.MaintenanceSchedules.Resource, "MaintenanceSchedule",
			func() *v1alpha1.MaintenanceSchedule { return &v1alpha1.MaintenanceSchedule{} },
			func() *v1alpha1.MaintenanceScheduleList { return &v1alpha1.MaintenanceScheduleList{} }),
		ClusterUpgrades: resource(client, codec, v1alpha1.ClusterUpgrades.Resource, "ClusterUpgrade",
			func() *v1alpha1.ClusterUpgrade { return &v1alpha1.ClusterUpgrade{} },
			func() *v1alpha1.ClusterUpgradeList { return &v1alpha1.ClusterUpgradeList{} }),
		NodeUpgrades: resource(client, codec, v1alpha1.NodeUpgrades.Resource, "NodeUpgrade",
			func() *v1alpha1.NodeUpgrade { return &v1alpha1.NodeUpgrade{} },
			func() *v1alpha1.NodeUpgradeList { return &v1alpha1.NodeUpgradeList{} }),
	}, nil
}

func resource[T Object, L runtime.Object](client rest.Interface, codec runtime.ParameterCodec, name, kind string, one func() T, list func() L) Resource[T, L] {
	return Resource[T, L]{
		ClientWithList: gentype.NewClientWithList[T, L](name, client, codec, metav1.NamespaceNone, one, list),
		kind:           kind,
		empty:          one,
	}
}

// Apply writes the fields of obj that are set as the field manager's own, by
// server-side apply, taking them over where another has them. obj must bear
// its name. subresource is "" or "status".
func (r Resource[T, L]) Apply(ctx context.Context, obj T, manager, subresource string) (T, error) {
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
