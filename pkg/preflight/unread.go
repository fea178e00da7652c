package preflight

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

var factsChecks = []Entry{
	{
		"facts-missing", either,
		"a node's agent has not said, or not for an hour, what preflight has to know of it; on a control-plane node this blocks, on workers it warns",
		"Look at its agent: kubectl -n kubectl-upgrade get pods -o wide, and its log.",
	},
	{
		"facts-incomplete", warns,
		"a node's agent could not find out something that a check needs",
		"Look at its agent's log: kubectl -n kubectl-upgrade logs.",
	},
	{
		"unread", warns,
		"something of the cluster could not be read, so that checks may have missed something",
		"Run it again; if permission is what is missing, as somebody who has it.",
	},
	{
		"ignore-unknown", warns,
		"spec.ignoreChecks names what is no check",
		"Take an id from docs/checks.md.",
	},
}

// stale is after how long an agent's word counts no more. Agents give it anew
// every ten minutes.
const stale = time.Hour

func (c *checker) checkFacts() {
	var silent []*node
	lacks, troubles := map[string][]*node{}, map[string][]*node{}
	for _, n := range c.nodes {
		old := n.facts != nil && c.Now.Sub(n.facts.GatheredAt.Time) > stale
		switch {
		case n.facts != nil && !old:
			for _, what := range c.unknown(n) {
				lacks[what] = append(lacks[what], n)
			}
			for _, problem := range n.facts.Problems {
				troubles[sentence(problem)] = append(troubles[sentence(problem)], n)
			}
		case !n.controlPlane:
			silent = append(silent, n)
		case old:
			c.onNode(n, v1alpha1.Finding{ID: "facts-missing", Message: fmt.Sprintf("The agent on control-plane node %s has not said how the node is since %s.", n.name, n.facts.GatheredAt.UTC().Format("2006-01-02 15:04 MST"))})
		default:
			c.onNode(n, v1alpha1.Finding{ID: "facts-missing", Message: fmt.Sprintf("The agent on control-plane node %s has not said how the node is.", n.name)})
		}
	}
	c.warnOfNodes("facts-missing", silent, "No word from the agents of %[1]s: %[2]s.")
	for what, nodes := range lacks {
		c.warnOfNodes("facts-incomplete", nodes, "The agents of %[1]s do not know %[3]s: %[2]s.", what)
	}
	for trouble, nodes := range troubles {
		c.warnOfNodes("facts-incomplete", nodes, "Agents had trouble on %[1]s (%[2]s): %[3]s.", trouble)
	}
	for _, what := range c.Unread {
		c.add(v1alpha1.Finding{ID: "unread", Message: what})
	}
	for _, id := range slices.Compact(slices.Sorted(slices.Values(c.Upgrade.Spec.IgnoreChecks))) {
		if !Known(id) {
			c.add(v1alpha1.Finding{ID: "ignore-unknown", Message: fmt.Sprintf("spec.ignoreChecks names %q, which is no check.", id)})
		}
	}
}

// unknown is what the agent left out and a check needs. etcd has a check of its
// own.
func (c *checker) unknown(n *node) []string {
	if !c.kubeadm || !n.moves {
		return nil
	}
	var list []string
	if len(n.facts.Disks) == 0 {
		list = append(list, "the room on the disks")
	}
	if n.controlPlane && len(n.facts.Certificates) == 0 {
		list = append(list, "when certificates end")
	}
	if c.to.Minor >= minorWithoutCgroup1 && n.facts.CgroupVersion == 0 {
		list = append(list, "the version of cgroups")
	}
	return list
}
