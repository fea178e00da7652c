package cli

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authenticationv1client "k8s.io/client-go/kubernetes/typed/authentication/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/client"
)

// reader reads the objects that the verbs show.
type reader struct {
	kinds   *client.Interface
	core    corev1client.CoreV1Interface
	reviews authenticationv1client.SelfSubjectReviewInterface
}

// objects are what was read. policies and nodes are nil where they may not be
// read: status is then drawn without them.
type objects struct {
	upgrades     []v1alpha1.ClusterUpgrade
	nodeUpgrades []v1alpha1.NodeUpgrade
	schedules    []v1alpha1.MaintenanceSchedule
	policies     []v1alpha1.UpgradePolicy
	nodes        []corev1.Node
}

func (p *program) reader() (*reader, error) {
	config, err := p.cluster.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	kinds, err := client.New(config)
	if err != nil {
		return nil, err
	}
	core, err := corev1client.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	authentication, err := authenticationv1client.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &reader{kinds: kinds, core: core, reviews: authentication.SelfSubjectReviews()}, nil
}

func (r *reader) read(ctx context.Context) (objects, error) {
	var o objects
	nodeUpgrades, err := r.kinds.NodeUpgrades.List(ctx, metav1.ListOptions{})
	if err != nil {
		return o, explain("reading NodeUpgrades", err)
	}
	upgrades, err := r.kinds.ClusterUpgrades.List(ctx, metav1.ListOptions{})
	if err != nil {
		return o, explain("reading ClusterUpgrades", err)
	}
	schedules, err := r.kinds.MaintenanceSchedules.List(ctx, metav1.ListOptions{})
	if err != nil {
		return o, explain("reading MaintenanceSchedules", err)
	}
	o = objects{upgrades: upgrades.Items, nodeUpgrades: nodeUpgrades.Items, schedules: schedules.Items}
	switch policies, err := r.kinds.UpgradePolicies.List(ctx, metav1.ListOptions{}); {
	case err == nil:
		o.policies = policies.Items
	case !apierrors.IsForbidden(err):
		return o, explain("reading UpgradePolicies", err)
	}
	switch nodes, err := r.core.Nodes().List(ctx, metav1.ListOptions{}); {
	case err == nil:
		o.nodes = nodes.Items
	case !apierrors.IsForbidden(err):
		return o, explain("reading Nodes", err)
	}
	return o, nil
}

// policy returns the UpgradePolicy that counts; nil where there is none, or where
// it may not be read.
func (o objects) policy() *v1alpha1.UpgradePolicy {
	for i := range o.policies {
		if o.policies[i].Name == v1alpha1.PolicyName {
			return &o.policies[i]
		}
	}
	return nil
}

// managed returns what tells by a Node's labels whether the policy leaves it alone.
func (o objects) managed() func(map[string]string) bool {
	if policy := o.policy(); policy != nil {
		return selects(policy.Spec.NodeSelector)
	}
	return selects(nil)
}

// installed returns the versions whose images lie on the node's disk, as far as that
// is known and may be read.
func (r *reader) installed(ctx context.Context, node string) []string {
	inventory, err := r.kinds.NodeInventories.Get(ctx, node, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return inventory.Installed
}

// upgrade finds a ClusterUpgrade by its name.
func (o objects) upgrade(name string) *v1alpha1.ClusterUpgrade {
	for i := range o.upgrades {
		if o.upgrades[i].Name == name {
			return &o.upgrades[i]
		}
	}
	return nil
}
