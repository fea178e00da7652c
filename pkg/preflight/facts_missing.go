package preflight

import (
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/staticpod"
)

var factsChecks = []Entry{
	{
		"facts-missing", either,
		"a node's agent has not reported the facts that the checks need, or it does not run and its last report is more than an hour old; on a control-plane node this blocks, on workers it warns",
		"Check its agent: kubectl -n kubectl-upgrade get pods -o wide, and its log.",
	},
	{
		"facts-incomplete", warns,
		"a node's agent could not determine a fact that a check needs",
		"Read its agent's log: kubectl -n kubectl-upgrade logs.",
	},
	{
		"unread", warns,
		"a part of the cluster could not be read, so that checks may have missed a problem",
		"Run the plan again; if a permission is missing, as a user who has it.",
	},
	{
		"ignore-unknown", warns,
		"spec.ignoreChecks names a check that does not exist",
		"Take an id from docs/checks.md.",
	},
}

// stale is the age from which the inventory of a node whose agent does not run no longer
// counts. A running agent writes the inventory only when it changes.
const stale = time.Hour

func (c *checker) checkFacts() {
	var silent []*node
	watched := c.watched()
	lacks, problems := map[string][]*node{}, map[string][]*node{}
	for _, n := range c.nodes {
		old := n.facts != nil && c.Now.Sub(n.facts.GatheredTime.Time) > stale && !watched(n.name)
		switch {
		case n.facts != nil && !old:
			for _, what := range c.unknown(n) {
				lacks[what] = append(lacks[what], n)
			}
			for _, problem := range n.facts.Problems {
				problems[sentence(problem)] = append(problems[sentence(problem)], n)
			}
		case !n.controlPlane:
			silent = append(silent, n)
		case old:
			c.onNode(n, v1alpha1.Finding{ID: "facts-missing", Message: fmt.Sprintf("The agent on control-plane node %s does not run, and has not reported since %s.", n.name, n.facts.GatheredTime.UTC().Format("2006-01-02 15:04 MST"))})
		default:
			c.onNode(n, v1alpha1.Finding{ID: "facts-missing", Message: fmt.Sprintf("The agent on control-plane node %s has not reported.", n.name)})
		}
	}
	c.warnOfNodes("facts-missing", silent, "The agents of %[1]s have not reported: %[2]s.")
	for what, nodes := range lacks {
		c.warnOfNodes("facts-incomplete", nodes, "The agents of %[1]s could not determine %[3]s: %[2]s.", what)
	}
	for problem, nodes := range problems {
		c.warnOfNodes("facts-incomplete", nodes, "The agents of %[1]s reported a problem (%[2]s): %[3]s.", problem)
	}
	for _, what := range c.Unread {
		c.add(v1alpha1.Finding{ID: "unread", Message: what})
	}
	for _, check := range c.Upgrade.Spec.IgnoreChecks {
		if !Known(check.ID) {
			c.add(v1alpha1.Finding{ID: "ignore-unknown", Message: fmt.Sprintf("spec.ignoreChecks names %q, and there is no such check.", check.ID)})
		}
	}
}

// watched returns a function that reports whether an agent runs on a node. If pods could
// not be read, it assumes that one does.
func (c *checker) watched() func(node string) bool {
	if c.Workloads.Pods == nil {
		return func(string) bool { return true }
	}
	on := map[string]bool{}
	for i := range c.Workloads.Pods {
		pod := &c.Workloads.Pods[i]
		if pod.Namespace == ownNamespace && pod.Labels[agentLabel] == agentComponent && staticpod.Ready(pod) {
			on[pod.Spec.NodeName] = true
		}
	}
	return func(node string) bool { return on[node] }
}

// The label of the agents' pods, as manifests/agent has it.
const (
	agentLabel     = "app.kubernetes.io/component"
	agentComponent = "node-agent"
)

// unknown returns the facts that a check needs and the agent did not report. etcd has a
// check of its own.
func (c *checker) unknown(n *node) []string {
	if !c.kubeadm || !n.moves {
		return nil
	}
	var list []string
	if len(n.facts.Disks) == 0 {
		list = append(list, "the free space on the disks")
	}
	if n.controlPlane && len(n.facts.Certificates) == 0 {
		list = append(list, "when certificates expire")
	}
	if c.to.Minor >= minorWithoutCgroup1 && n.facts.CgroupVersion == 0 {
		list = append(list, "the version of cgroups")
	}
	return list
}
