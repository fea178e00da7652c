package preflight

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// Check returns the problems of the upgrade: findings that block first, then by id and
// object. Findings that the upgrade ignores are included, and marked.
//
// A finding that blocks and names a node holds that node alone; one that names
// none holds the whole upgrade. A problem of a control-plane node holds the whole
// upgrade, because no node goes past pass 1 without it. There can be one finding for
// each node: Bound makes them fit into a status.
func Check(f Facts) []v1alpha1.Finding {
	c := newChecker(f)
	for _, run := range runs {
		run(c)
	}
	for i := range c.found {
		c.found[i].Ignored = f.Upgrade.Spec.Ignores(c.found[i].ID)
	}
	slices.SortFunc(c.found, order)
	return c.found
}

var runs = []func(*checker){
	(*checker).checkVersions, (*checker).checkControlPlane, (*checker).checkEtcd, (*checker).checkCertificates,
	(*checker).checkDisks, (*checker).checkTraps, (*checker).checkWorkloads, (*checker).checkWebhooks,
	(*checker).checkOthers, (*checker).checkFacts,
}

// order sorts findings that block first, then by id and object.
func order(a, b v1alpha1.Finding) int {
	return cmp.Or(
		cmp.Compare(rank(a.Level), rank(b.Level)),
		cmp.Compare(a.ID, b.ID),
		compareObjects(a.Object, b.Object),
		cmp.Compare(a.Message, b.Message),
	)
}

func compareObjects(a, b v1alpha1.ObjectReference) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

func rank(level v1alpha1.FindingLevel) int {
	if level == v1alpha1.LevelBlock {
		return 0
	}
	return 1
}

// checker holds the facts as the checks need them, and the findings.
type checker struct {
	Facts
	// to is the version to reach, and kubeadm whether there is one: an upgrade
	// of type Reboot runs no kubeadm.
	to      version.Version
	kubeadm bool

	strategy v1alpha1.Strategy
	managed  labels.Selector // of the nodes that the policy manages
	selected labels.Selector // of those among them that the upgrade is for
	drains   drainOrder      // of nodes of no group
	groups   []nodeGroup

	nodes       []*node // those that the upgrade concerns, by name
	unsupported []*node // those on which it is not possible, by name
	leftOut     []*node // those that a nodeSelector leaves out, by name
	all         []*node
	static      []staticPod
	evicted     []evictedPod
	found       []v1alpha1.Finding
}

func newChecker(f Facts) *checker {
	c := &checker{
		Facts: f, strategy: f.Upgrade.Resolve(f.Policy.Strategy),
		managed: selector(f.Policy.NodeSelector), selected: selector(f.Upgrade.Spec.NodeSelector),
	}
	c.drains, c.groups = drainOrders(c.strategy)
	if to, err := version.Parse(f.Upgrade.Spec.Version); err == nil {
		c.to, c.kubeadm = to, true
	}
	c.sortNodes()
	c.findStaticPods()
	c.findEvicted()
	return c
}

// add adds a finding. Its level and advice default to the catalog's.
func (c *checker) add(f v1alpha1.Finding) {
	entry := entries[f.ID]
	f.Level, f.Advice = cmp.Or(f.Level, entry.Levels[0]), cmp.Or(f.Advice, entry.Advice)
	c.found = append(c.found, f)
}

// onNode adds a finding about a node. One that blocks a worker holds it alone.
func (c *checker) onNode(n *node, f v1alpha1.Finding) {
	f.Object = n.object()
	if !n.controlPlane {
		f.Node = n.name
	}
	c.add(f)
}

// reaches reports whether the upgrade takes a component from an older minor to that minor
// of Kubernetes 1, or beyond it, so that the component loses what that minor removed.
func (c *checker) reaches(minor int, from version.Version) bool {
	return c.kubeadm && c.to.Minor >= minor && from.Minor < minor
}
