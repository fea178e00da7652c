package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/preflight"
)

const (
	// recheckAfter is how long what blocks is believed: what is mended goes on by
	// itself.
	recheckAfter = 30 * time.Second
	// freshFor is how long any report is believed where no node is at work: much
	// may have happened until a window opens.
	freshFor = 10 * time.Minute
)

// checks is the report of preflight, sorted out.
type checks struct {
	key    string           // of the report that is needed; empty: none is
	report *fleet.Preflight // for the upgrade, whatever its key; nil: none
	blocks bool             // some finding does
	whole  []*v1alpha1.Finding
	own    map[string]*v1alpha1.Finding // the first of each node
}

// readChecks sorts the report out. An upgrade that is over needs none: a node that
// comes late goes as the others did.
func (c *cluster) readChecks() checks {
	if c.target == nil || c.target.follows {
		return checks{}
	}
	k := checks{key: c.checksKey(), own: map[string]*v1alpha1.Finding{}}
	report := c.Preflight
	if report == nil || !c.target.isFor(&report.Upgrade) {
		return k
	}
	k.report = report
	for i := range report.Findings {
		f := &report.Findings[i]
		if f.Level != v1alpha1.LevelBlock || f.Ignored {
			continue
		}
		k.blocks = true
		switch {
		case f.ID == preflight.LastBackend: // the allocation asks again, for the present moment
		case f.Node == "":
			k.whole = append(k.whole, f)
		case k.own[f.Node] == nil:
			k.own[f.Node] = f
		}
	}
	return k
}

// current reports whether the report is for how far the upgrade is.
func (k checks) current() bool { return k.report != nil && k.report.Key == k.key }

// checksKey changes whenever another control-plane node is about to go, when a
// person changes what is asked for, and when a control plane gets better or worse:
// one that was away for its node's reboot must not hold the next one up.
func (c *cluster) checksKey() string {
	components, nodes, complaints := 0, 0, 0
	for _, n := range c.controlPlanes() {
		if !n.concerned {
			continue
		}
		complaints += etcdComplaints(n.facts)
		if n.kubeadmDone && (!n.busy() || n.spec.Release == v1alpha1.ReleaseNode) {
			components++
		}
		if n.upToDate && !n.busy() {
			nodes++
		}
	}
	for _, pod := range slices.Concat(c.apiServers, c.etcd) {
		if !pod.Ready {
			complaints++
		}
	}
	return fmt.Sprintf("%s/%d %s kubeadm/%d kubelet/%d unhealthy/%d",
		c.target.Name, c.target.Generation, c.target.Spec.Version, components, nodes, complaints)
}

// etcdComplaints counts what a control-plane node's agent has to say against
// etcd, and that it has not reported.
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

// notChecked holds every node, but those released before, until there is a report
// for how far the upgrade is.
func (a *allocation) notChecked(n *node) fleet.Hold {
	k := a.checks
	if k.key == "" || n.promised() && n.released() && a.orders(n) {
		return fleet.Hold{}
	}
	if k.current() && (a.busy || a.now.Sub(k.report.At) < freshFor) {
		return fleet.Hold{}
	}
	a.missing = true
	message := "the checks that come before the next node have not run yet"
	if a.PreflightProblem != "" {
		message = "the checks that come before the next node could not be made: " + a.PreflightProblem
	}
	return fleet.Hold{Reason: v1alpha1.ReasonPreflight, Message: message}
}

// needsChecks reports whether preflight is to run now: because the upgrade is about
// to begin or to go on with another control-plane node, because what blocks may be
// mended, or because a node could go.
func (c *cluster) needsChecks(missing bool) bool {
	k := c.checks
	if k.key == "" || c.target.hold.Holds() {
		return false
	}
	return missing || !k.current() || k.blocks && c.now.Sub(k.report.At) >= recheckAfter
}

// sentences says what is wrong and what to do.
func sentences(f *v1alpha1.Finding) string { return strings.TrimSpace(f.Message + " " + f.Advice) }
