package preflight

import (
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// Facts are the whole input of the checks.
type Facts struct {
	Now time.Time
	// Upgrade is the one that is to begin, or that goes on.
	Upgrade v1alpha1.ClusterUpgrade

	// Policy is the spec of the UpgradePolicy.
	Policy v1alpha1.UpgradePolicySpec

	Nodes        []corev1.Node
	NodeUpgrades []v1alpha1.NodeUpgrade
	Inventories  []v1alpha1.NodeInventory
	// SystemPods are the pods of kube-system, static ones among them.
	SystemPods []corev1.Pod
	// Offered are the architectures, as Kubernetes names them, for which the source
	// has an image of the version. Nil: that is not known.
	Offered []string
	// Replaced are images of the version that replaced others in the source.
	Replaced []v1alpha1.OfferedImage
	// RequestedAPIs are deprecated APIs that were called since each apiserver
	// started.
	RequestedAPIs []RequestedAPI

	// KubeletConfig is what kubeadm will configure kubelets with. Nil: it was not
	// read.
	KubeletConfig *KubeletConfig

	Workloads Workloads
	// RebootManagers are other programs that may reboot nodes.
	RebootManagers []fleet.RebootManager

	// Unread is what could not be read, one sentence each.
	Unread []string
}

// Workloads are what runs on the cluster.
type Workloads struct {
	Pods           []corev1.Pod
	Budgets        []policyv1.PodDisruptionBudget
	Deployments    []appsv1.Deployment
	EndpointSlices []discoveryv1.EndpointSlice
	Validating     []admissionregistrationv1.ValidatingWebhookConfiguration
	Mutating       []admissionregistrationv1.MutatingWebhookConfiguration
}

// RequestedAPI is a deprecated API that was called, from an apiserver's metric
// apiserver_requested_deprecated_apis.
type RequestedAPI struct {
	APIServer                                     string // the node it runs on
	Group, Version, Resource, Subresource, Remove string // Remove is the release that no longer serves it, such as 1.36
}
