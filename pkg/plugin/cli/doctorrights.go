package cli

import (
	"cmp"
	"reflect"
	"slices"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/doctor"
)

// rightsOf are what users want to do.
var rightsOf = []struct {
	what, verb, group, resource string
	needed                      bool
}{
	{"see nodes", "list", "", "nodes", true},
	{"see pods", "list", "", "pods", true},
	{"see other programs that reboot nodes", "list", "apps", "daemonsets", true},
	{"see upgrades", "list", v1alpha1.Group, "clusterupgrades", true},
	{"see what nodes do", "list", v1alpha1.Group, "nodeupgrades", true},
	{"request upgrades", "create", v1alpha1.Group, "clusterupgrades", false},
	{"freeze", "create", v1alpha1.Group, "maintenanceschedules", false},
	{"configure", "update", v1alpha1.Group, "upgradepolicies", false},
	{"install", "create", "rbac.authorization.k8s.io", "clusterroles", false},
}

func (e *examination) readRights() {
	for _, r := range rightsOf {
		review := &authorizationv1.SelfSubjectAccessReview{}
		review.Spec.ResourceAttributes = &authorizationv1.ResourceAttributes{Verb: r.verb, Group: r.group, Resource: r.resource}
		answer, err := e.kube.AuthorizationV1().SelfSubjectAccessReviews().Create(e.ctx, review, metav1.CreateOptions{})
		if err != nil {
			e.facts.Unread = append(e.facts.Unread, "your rights could not be read: "+oneLine(err.Error()))
			return
		}
		e.facts.Rights = append(e.facts.Rights, doctor.Right{For: r.what, Needs: r.verb + " " + r.resource, Allowed: answer.Status.Allowed, Needed: r.needed})
	}
}

// ourTypes are the Go types of the project's kinds, by resource.
var ourTypes = map[schema.GroupVersionResource]reflect.Type{
	v1alpha1.ClusterUpgrades:      reflect.TypeFor[v1alpha1.ClusterUpgrade](),
	v1alpha1.MaintenanceSchedules: reflect.TypeFor[v1alpha1.MaintenanceSchedule](),
	v1alpha1.NodeInventories:      reflect.TypeFor[v1alpha1.NodeInventory](),
	v1alpha1.NodeUpgrades:         reflect.TypeFor[v1alpha1.NodeUpgrade](),
	v1alpha1.UpgradePolicies:      reflect.TypeFor[v1alpha1.UpgradePolicy](),
	v1alpha1.UpgradeRecords:       reflect.TypeFor[v1alpha1.UpgradeRecord](),
}

// readKinds reads which of the project's kinds the cluster knows, and with which fields.
func (e *examination) readKinds() {
	served, err := e.kube.Discovery().ServerResourcesForGroupVersion(v1alpha1.GroupVersion.String())
	if err != nil && !apierrors.IsNotFound(err) {
		e.facts.Unread = append(e.facts.Unread, "the kinds of the cluster could not be read: "+oneLine(err.Error()))
		return
	}
	definitions := dynamic.NewForConfigOrDie(e.access).Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	for resource, of := range ourTypes {
		kind := doctor.Kind{Name: of.Name(), Missing: served == nil || !slices.ContainsFunc(served.APIResources, func(r metav1.APIResource) bool { return r.Name == resource.Resource })}
		if !kind.Missing {
			definition, err := definitions.Get(e.ctx, resource.GroupResource().String(), metav1.GetOptions{})
			if kind.Unread = err != nil; !kind.Unread {
				kind.Lacks = doctor.Lacks(of, schemaOf(definition))
			}
		}
		e.facts.Kinds = append(e.facts.Kinds, kind)
	}
	slices.SortFunc(e.facts.Kinds, func(a, b doctor.Kind) int { return cmp.Compare(a.Name, b.Name) })
}

// schemaOf returns the schema of the version that the plugin uses.
func schemaOf(definition *unstructured.Unstructured) map[string]any {
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, one := range versions {
		if v, is := one.(map[string]any); is && v["name"] == v1alpha1.GroupVersion.Version {
			found, _, _ := unstructured.NestedMap(v, "schema", "openAPIV3Schema")
			return found
		}
	}
	return nil
}
