package preflight

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

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
	(*checker).checkVersions, (*checker).checkControlPlane, (*checker).checkConfigMaps, (*checker).checkAddons,
	(*checker).checkCoreDNS, (*checker).checkHealthJob,
	(*checker).checkEtcd, (*checker).checkCertificates,
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
	// to is the version to reach, and kubeadm whether kubeadm brings it: upgrades of type Reboot
	// and Certificates have no version, and one of type Rollback returns only kubelets.
	to      version.Version
	kubeadm bool
	back    bool // its type is Rollback
	renews  bool // its type is Certificates

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
	left        []evictedPod // by drains, as they tolerate a cordoned node
	found       []v1alpha1.Finding
}

func newChecker(f Facts) *checker {
	c := &checker{
		Facts: f, strategy: f.Upgrade.Resolve(f.Policy.Strategy),
		managed: selector(f.Policy.NodeSelector), selected: selector(f.Upgrade.Spec.NodeSelector),
		renews: f.Upgrade.Spec.Type == v1alpha1.TypeCertificates,
	}
	c.drains, c.groups = drainOrders(c.strategy)
	if to, err := version.Parse(f.Upgrade.Spec.Version); err == nil {
		c.to, c.back = to, f.Upgrade.Spec.Type == v1alpha1.TypeRollback
		c.kubeadm = !c.back
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

// Family is the subject of a group of checks.
type Family struct {
	Title  string
	Checks []Entry
}

// Entry describes a check.
type Entry struct {
	// ID never changes: people write it into spec.ignoreChecks.
	ID string
	Effect
	// About says when it has a finding.
	About string
	// Advice says what to do, where the finding itself gives no advice.
	Advice string
}

// Effect is what the findings of a check do.
type Effect struct {
	// Levels that the findings have.
	Levels []v1alpha1.FindingLevel
	// Mandatory reports whether it does not help to ignore the check: there is no image
	// to stage, Kubernetes itself refuses the step, or a later step waits forever.
	Mandatory bool
}

var (
	mandatory = Effect{Levels: []v1alpha1.FindingLevel{v1alpha1.LevelBlock}, Mandatory: true}
	blocks    = Effect{Levels: []v1alpha1.FindingLevel{v1alpha1.LevelBlock}}
	warns     = Effect{Levels: []v1alpha1.FindingLevel{v1alpha1.LevelWarn}}
	either    = Effect{Levels: []v1alpha1.FindingLevel{v1alpha1.LevelBlock, v1alpha1.LevelWarn}}
)

// families are all checks, in the order in which Check runs them.
var families = []Family{
	{"Version", versionChecks},
	{"Control plane", controlPlaneChecks},
	{"etcd", etcdChecks},
	{"Certificates", certificateChecks},
	{"Disk and memory", diskChecks},
	{"What the version no longer supports", trapChecks},
	{"Workloads", workloadChecks},
	{"Admission webhooks", webhookChecks},
	{"Other programs", otherChecks},
	{"Facts", factsChecks},
}

// entries are the checks by id.
var entries = byID()

func byID() map[string]Entry {
	byID := map[string]Entry{}
	for _, family := range families {
		for _, entry := range family.Checks {
			byID[entry.ID] = entry
		}
	}
	return byID
}

// Catalog describes every check, by family.
func Catalog() []Family { return slices.Clone(families) }

// Known reports whether there is a check with that id.
func Known(id string) bool {
	_, known := entries[id]
	return known
}

// Ignorable reports whether an upgrade that ignores the check continues. The findings are
// marked as ignored in either case.
func Ignorable(id string) bool { return Known(id) && !entries[id].Mandatory }

// Bound returns at most limit of the findings, in their order. If there are too many, it
// omits findings of the checks that have most, and adds one of the same check and level
// that says how many were omitted. It may exceed a limit below twice the number of
// checks.
func Bound(findings []v1alpha1.Finding, limit int) []v1alpha1.Finding {
	if len(findings) <= limit {
		return findings
	}
	seen := map[group]int{}
	for _, f := range findings {
		seen[group{f.Level, f.ID}]++
	}
	share := limit
	for share > 1 && bounded(seen, share) > limit {
		share--
	}
	shown := map[group]int{}
	var out []v1alpha1.Finding
	for _, f := range findings {
		g := group{f.Level, f.ID}
		shown[g]++
		switch {
		case shown[g] <= share:
			out = append(out, f)
		case shown[g] == share+1:
			out = append(out, v1alpha1.Finding{
				ID: f.ID, Level: f.Level, Advice: f.Advice, Ignored: f.Ignored,
				Message: fmt.Sprintf("More findings of this check, which are not listed: %d.", seen[g]-share),
			})
		}
	}
	return out
}

// group identifies findings that are omitted together.
type group struct {
	level v1alpha1.FindingLevel
	id    string
}

// bounded returns how many findings are left if each group shows share of its own.
func bounded(seen map[group]int, share int) int {
	total := 0
	for _, n := range seen {
		total += min(n, share+1)
	}
	return total
}

// named is how many names a sentence lists.
const named = 3

// names returns the first few names, sorted and each once: "a, b, c and 4 more".
func names(list []string) string {
	list = slices.Compact(slices.Sorted(slices.Values(list)))
	if more := len(list) - named; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:named], ", "), more)
	}
	return strings.Join(list, ", ")
}

// nodeNames returns the names of the first few nodes.
func nodeNames(list []*node) string {
	var out []string
	for _, n := range list {
		out = append(out, n.name)
	}
	return names(out)
}

// plural returns "1 node" or "2 nodes".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
