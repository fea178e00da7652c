package management

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Scheme has the kinds that are read and written in the management cluster.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, clusterv1.AddToScheme, controlplanev1.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err) // a kind is there twice
		}
	}
	return scheme
}

// Mapper knows the kinds without asking the API server for them.
func Mapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []string{"Secret", "Event"} {
		m.Add(corev1.SchemeGroupVersion.WithKind(kind), meta.RESTScopeNamespace)
	}
	for _, kind := range []string{"Cluster", "Machine", "MachineSet", "MachineDeployment"} {
		m.Add(clusterv1.GroupVersion.WithKind(kind), meta.RESTScopeNamespace)
	}
	m.Add(controlplanev1.GroupVersion.WithKind("KubeadmControlPlane"), meta.RESTScopeNamespace)
	return m
}

// Kinds of owners.
const (
	KindControlPlane = "KubeadmControlPlane"
	KindDeployment   = "MachineDeployment"
)

// Owner is what a person changes to upgrade machines: a KubeadmControlPlane or a MachineDeployment.
type Owner struct {
	client.Object
	Kind string
	// Version is the version that it asks for.
	Version string
}

// String names the owner for people.
func (o Owner) String() string {
	return fmt.Sprintf("%s %s/%s", o.Kind, o.GetNamespace(), o.GetName())
}

// OwnerOf returns the owner of machines, by the labels that Cluster API gives to Machines and
// MachineSets, and by a Machine's owner reference.
func OwnerOf(ctx context.Context, c client.Reader, object client.Object) (Owner, error) {
	if ref := metav1.GetControllerOf(object); ref != nil && ref.Kind == KindControlPlane {
		return ControlPlane(ctx, c, types.NamespacedName{Namespace: object.GetNamespace(), Name: ref.Name})
	}
	name := object.GetLabels()[clusterv1.MachineDeploymentNameLabel]
	if name == "" {
		return Owner{}, fmt.Errorf("%s/%s belongs to no KubeadmControlPlane and no MachineDeployment, and only theirs are upgraded in place", object.GetNamespace(), object.GetName())
	}
	return Deployment(ctx, c, types.NamespacedName{Namespace: object.GetNamespace(), Name: name})
}

// ControlPlane reads a KubeadmControlPlane.
func ControlPlane(ctx context.Context, c client.Reader, name types.NamespacedName) (Owner, error) {
	var kcp controlplanev1.KubeadmControlPlane
	if err := c.Get(ctx, name, &kcp); err != nil {
		return Owner{}, fmt.Errorf("reading KubeadmControlPlane %s: %w", name, err)
	}
	return Owner{&kcp, KindControlPlane, kcp.Spec.Version}, nil
}

// Deployment reads a MachineDeployment.
func Deployment(ctx context.Context, c client.Reader, name types.NamespacedName) (Owner, error) {
	var md clusterv1.MachineDeployment
	if err := c.Get(ctx, name, &md); err != nil {
		return Owner{}, fmt.Errorf("reading MachineDeployment %s: %w", name, err)
	}
	return Owner{&md, KindDeployment, md.Spec.Template.Spec.Version}, nil
}

// Owners lists the owners of a cluster's machines.
func Owners(ctx context.Context, c client.Reader, cluster types.NamespacedName) ([]Owner, error) {
	of := []client.ListOption{client.InNamespace(cluster.Namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: cluster.Name}}
	var kcps controlplanev1.KubeadmControlPlaneList
	if err := c.List(ctx, &kcps, of...); err != nil {
		return nil, fmt.Errorf("listing the KubeadmControlPlanes of cluster %s: %w", cluster, err)
	}
	var mds clusterv1.MachineDeploymentList
	if err := c.List(ctx, &mds, of...); err != nil {
		return nil, fmt.Errorf("listing the MachineDeployments of cluster %s: %w", cluster, err)
	}
	var owners []Owner
	for i := range kcps.Items {
		owners = append(owners, Owner{&kcps.Items[i], KindControlPlane, kcps.Items[i].Spec.Version})
	}
	for i := range mds.Items {
		owners = append(owners, Owner{&mds.Items[i], KindDeployment, mds.Items[i].Spec.Template.Spec.Version})
	}
	return owners, nil
}

// Machines lists the Machines of a cluster, or those that also have the labels.
func Machines(ctx context.Context, c client.Reader, cluster types.NamespacedName, labels map[string]string) ([]clusterv1.Machine, error) {
	match := client.MatchingLabels{clusterv1.ClusterNameLabel: cluster.Name}
	for key, value := range labels {
		match[key] = value
	}
	var list clusterv1.MachineList
	if err := c.List(ctx, &list, client.InNamespace(cluster.Namespace), match); err != nil {
		return nil, fmt.Errorf("listing the Machines of cluster %s: %w", cluster, err)
	}
	return list.Items, nil
}

// ClusterOf returns the name of the cluster that a Machine is of.
func ClusterOf(machine *clusterv1.Machine) types.NamespacedName {
	return types.NamespacedName{Namespace: machine.Namespace, Name: machine.Spec.ClusterName}
}

// OnControlPlane reports whether a Machine is one of a control plane.
func OnControlPlane(machine *clusterv1.Machine) bool {
	_, labelled := machine.Labels[clusterv1.MachineControlPlaneLabel]
	return labelled
}

// Updating reports whether Cluster API has decided to update a Machine in place.
func Updating(machine *clusterv1.Machine) bool {
	_, updating := machine.Annotations[clusterv1.UpdateInProgressAnnotation]
	return updating
}

// AwaitsUpdate reports whether Cluster API asks for the update of a Machine now: its objects have their
// new specs.
func AwaitsUpdate(machine *clusterv1.Machine) bool {
	for _, hook := range strings.Split(machine.Annotations[runtimev1.PendingHooksAnnotation], ",") {
		if hook == "UpdateMachine" {
			return Updating(machine)
		}
	}
	return false
}

// ToBeReplaced reports whether a Machine is to be deleted by its owner: a health check has marked it.
func ToBeReplaced(machine *clusterv1.Machine) bool {
	return meta.IsStatusConditionFalse(machine.Status.Conditions, clusterv1.MachineOwnerRemediatedCondition)
}
