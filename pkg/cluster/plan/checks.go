package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

const (
	// recheckAfter is the age at which a report that blocks is replaced, so that the
	// upgrade continues soon after the cause is fixed.
	recheckAfter = 30 * time.Second
	// freshFor is how long a node may be released on a report: the cluster may change
	// before a window opens, and while another node drains for hours or has failed.
	freshFor = 10 * time.Minute
)

// checks is the preflight report, sorted by what it holds.
type checks struct {
	key        string                       // the key of the report that is needed; empty: none is
	lastReport *fleet.Preflight             // the last report for the upgrade, whatever its key; nil: none
	blocks     bool                         // a finding blocks
	blockAll   []*v1alpha1.Finding          // those that block every node
	blockNode  map[string]*v1alpha1.Finding // by node: the first that blocks only that node
}

// readChecks sorts the report. While no late node waits, an upgrade that has ended needs
// none.
func (c *cluster) readChecks() checks {
	if c.target == nil || c.target.forLateNodes && !slices.ContainsFunc(c.nodes, func(n *node) bool { return n.open }) {
		return checks{}
	}
	k := checks{key: c.checksKey(), blockNode: map[string]*v1alpha1.Finding{}}
	report := c.Preflight
	if report == nil || !c.target.isFor(&report.Upgrade) {
		return k
	}
	k.lastReport = report
	for i := range report.Findings {
		f := &report.Findings[i]
		if f.Level != v1alpha1.LevelBlock || f.Ignored {
			continue
		}
		k.blocks = true
		switch {
		case f.ID == preflight.LastBackend: // allocation.lastBackend decides with current data
		case f.Node == "":
			k.blockAll = append(k.blockAll, f)
		case k.blockNode[f.Node] == nil:
			k.blockNode[f.Node] = f
		}
	}
	return k
}

// current reports whether the report matches how far the upgrade is.
func (k checks) current() bool { return k.lastReport != nil && k.lastReport.Key == k.key }

// checksKey returns the key of the report that is needed. It changes when another
// control-plane node is about to begin, when a person changes the upgrade, and when the
// health of the control plane changes: a pod that was not Ready for a moment, or a control
// plane that was down only for its node's reboot, must not hold the next node.
func (c *cluster) checksKey() string {
	components, nodes, complaints := 0, 0, 0
	for _, n := range c.controlPlanes() {
		if !n.concerned {
			continue
		}
		if !n.Ready && !n.busy() {
			complaints++
		}
		complaints += etcdComplaints(n.facts)
		if n.kubeadmDone && (!n.busy() || n.spec.Release == v1alpha1.ReleaseNode) {
			components++
		}
		if n.upToDate && !n.busy() {
			nodes++
		}
	}
	for _, pod := range slices.Concat(c.apiServers, c.etcd, c.Controllers) {
		if !pod.Ready {
			complaints++
		}
	}
	return fmt.Sprintf("%s/%d %s kubeadm/%d kubelet/%d unhealthy/%d",
		c.target.Name, c.target.Generation, c.target.Spec.Version, components, nodes, complaints)
}

// etcdComplaints counts the problems with etcd that a control-plane node's agent
// reports. A missing report counts as one.
func etcdComplaints(facts *v1alpha1.NodeFacts) int {
	if facts == nil {
		return 1
	}
	if facts.Etcd == nil {
		return 0
	}
	count := 0
	if facts.Etcd.Problem != "" {
		count++
	}
	for _, member := range facts.Etcd.Members {
		if !member.Healthy {
			count++
		}
	}
	return count
}

// notChecked holds every node that is not released yet until there is a current report.
func (a *allocation) notChecked(n *node) fleet.Hold {
	k := a.checks
	if k.key == "" || n.reserved() && n.released() && a.specIsForTarget(n) {
		return fleet.Hold{}
	}
	if k.current() && a.now.Sub(k.lastReport.At) < freshFor {
		return fleet.Hold{}
	}
	a.missing = true
	message := "the checks that come before the next node have not run yet"
	if a.PreflightProblem != "" {
		message = "the checks that come before the next node could not be made: " + a.PreflightProblem
	}
	return fleet.Hold{Reason: v1alpha1.ReasonPreflight, Message: message}
}

// needsChecks reports whether preflight must run now: because the upgrade is about to
// begin or to continue with another control-plane node, because the cause of a blocking
// finding may be fixed, or because a node waits only for a report.
func (c *cluster) needsChecks(missing bool) bool {
	k := c.checks
	if k.key == "" || c.target.hold.Holds() {
		return false
	}
	return missing || !k.current() && !c.target.forLateNodes || k.blocks && c.now.Sub(k.lastReport.At) >= recheckAfter
}

// sentences returns the finding's message and advice.
func sentences(f *v1alpha1.Finding) string { return strings.TrimSpace(f.Message + " " + f.Advice) }
