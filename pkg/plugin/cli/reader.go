package cli

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authenticationv1client "k8s.io/client-go/kubernetes/typed/authentication/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/client"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

// reader reads the objects that the verbs show.
type reader struct {
	kinds   *client.Interface
	core    corev1client.CoreV1Interface
	leases  coordinationv1client.LeaseInterface
	reviews authenticationv1client.SelfSubjectReviewInterface
	now     func() time.Time
}

// manager is the name under which the plugin writes fields.
const manager = "kubectl-upgrade"

// unlimited removes client-go's limit of five requests a second, by which the pages of a large
// cluster waited for each other. The API server's priority and fairness protects it.
func unlimited(config *rest.Config) *rest.Config {
	config.QPS = -1
	return config
}

// reader connects to the cluster as the user.
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
	coordination, err := coordinationv1client.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &reader{
		kinds: kinds, core: core, leases: coordination.Leases(v1alpha1.Namespace),
		reviews: authentication.SelfSubjectReviews(), now: p.now,
	}, nil
}

// read reads the objects. Policies and Nodes are left out where the user may not read
// them.
func (r *reader) read(ctx context.Context) (o view.Objects, err error) {
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
	o = view.Objects{Upgrades: upgrades.Items, NodeUpgrades: nodeUpgrades.Items, Schedules: schedules.Items}
	switch policies, err := r.kinds.UpgradePolicies.List(ctx, metav1.ListOptions{}); {
	case err == nil:
		o.Policies = policies.Items
	case !apierrors.IsForbidden(err):
		return o, explain("reading UpgradePolicies", err)
	}
	switch nodes, err := r.core.Nodes().List(ctx, metav1.ListOptions{}); {
	case err == nil:
		o.Nodes = nodes.Items
	case !apierrors.IsForbidden(err):
		return o, explain("reading Nodes", err)
	}
	o.Programs, err = r.programs(ctx)
	return o, err
}

// programs reads whether the coordinator and the agents run.
func (r *reader) programs(ctx context.Context) (view.Programs, error) {
	p := view.Programs{At: r.now()}
	switch leases, err := r.leases.List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + view.CoordinatorLease}); {
	case err == nil:
		p.Leases = append([]coordinationv1.Lease{}, leases.Items...) // nil would mean that they may not be read
	case !apierrors.IsForbidden(err):
		return p, explain("reading the coordinator's Lease", err)
	}
	switch pods, err := r.core.Pods(v1alpha1.Namespace).List(ctx, metav1.ListOptions{LabelSelector: view.AgentSelector}); {
	case err == nil:
		p.Agents = append([]corev1.Pod{}, pods.Items...)
	case !apierrors.IsForbidden(err):
		return p, explain("reading the agents' pods", err)
	}
	return p, nil
}

// schedules reads the MaintenanceSchedules.
func (r *reader) schedules(ctx context.Context) ([]v1alpha1.MaintenanceSchedule, error) {
	list, err := r.kinds.MaintenanceSchedules.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, explain("reading MaintenanceSchedules", err)
	}
	return list.Items, nil
}

// records reads the UpgradeRecords.
func (r *reader) records(ctx context.Context) ([]v1alpha1.UpgradeRecord, error) {
	list, err := r.kinds.UpgradeRecords.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, explain("reading UpgradeRecords", err)
	}
	return list.Items, nil
}

// policy reads the UpgradePolicy. It returns nil where there is none yet: then the
// defaults apply.
func (r *reader) policy(ctx context.Context) (*v1alpha1.UpgradePolicy, error) {
	policy, err := r.kinds.UpgradePolicies.Get(ctx, v1alpha1.PolicyName, metav1.GetOptions{})
	switch {
	case isMissing(err):
		return nil, nil
	case err != nil:
		return nil, explain("reading UpgradePolicy "+v1alpha1.PolicyName, err)
	}
	return policy, nil
}
