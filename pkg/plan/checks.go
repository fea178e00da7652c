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
	// freshFor is how long any report is believed where nobody is at work: much
	// may have happened until a window opens.
	freshFor = 10 * time.Minute
)

// checks is the report, sorted out.
type checks struct {
	key      string           // of the report that is needed; empty: none is
	report   *fleet.Preflight // for the upgrade, whatever its key; nil: none
	stay     bool             // nothing is asked for anew: it stays as it is
	blocks   bool             // some finding does
	missing  bool             // somebody could go, but for a report
	whole    []*v1alpha1.Finding
	own      map[string]*v1alpha1.Finding // the first of each node
	webhooks map[string][]*webhook        // by node that has a ready backend
	all      []*webhook
}

// readChecks sorts the report out. An upgrade that is over needs none: who comes
// late goes as the others did.
func (d *decider) readChecks() {
	d.readWebhooks()
	if d.target == nil || d.converging {
		return
	}
	d.checks.key = d.checksKey()
	report := d.Preflight
	if report == nil || report.Upgrade.UID != string(d.target.UID) {
		return
	}
	d.checks.report = report
	d.checks.own = map[string]*v1alpha1.Finding{}
	for i := range report.Findings {
		f := &report.Findings[i]
		if f.Level != v1alpha1.LevelBlock || f.Ignored {
			continue
		}
		d.checks.blocks = true
		switch {
		case f.ID == preflight.LastBackend: // which is asked again, for the present moment
		case f.Node == "":
			d.checks.whole = append(d.checks.whole, f)
		case d.checks.own[f.Node] == nil:
			d.checks.own[f.Node] = f
		}
	}
}

// checksKey changes whenever another control-plane node is about to go, when
// somebody changes what is asked for, and when a control plane gets better or
// worse: one that was away for its node's reboot must not hold the next one up.
func (d *decider) checksKey() string {
	components, nodes, complaints := 0, 0, 0
	for _, n := range d.nodes {
		if !n.ControlPlane || !n.counts() {
			continue
		}
		complaints += etcdComplaints(n.facts)
		if n.kubeadmAt(d.to) && (!n.busy() || n.spec.Release == v1alpha1.ReleaseNode) {
			components++
		}
		if n.asWanted(d.to) && !n.busy() {
			nodes++
		}
	}
	for _, pod := range slices.Concat(d.APIServers, d.Etcd) {
		if !pod.Ready {
			complaints++
		}
	}
	return fmt.Sprintf("%s/%d %s kubeadm/%d kubelet/%d unwell/%d",
		d.target.Name, d.target.Generation, d.target.Spec.Version, components, nodes, complaints)
}

// etcdComplaints counts what a control-plane node's agent has to say against
// etcd, and that it has not spoken.
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

// needsChecks is whether preflight is to run now: because the upgrade is about to
// begin or to go on with another control-plane node, because what blocks may be
// mended, or because somebody could go.
func (d *decider) needsChecks() bool {
	c := &d.checks
	if c.key == "" || d.wholly.Reason != "" {
		return false
	}
	return c.missing || !c.current() || c.blocks && d.age() >= recheckAfter
}

// current is whether the report is for how far the upgrade is.
func (c *checks) current() bool { return c.report != nil && c.report.Key == c.key }

func (d *decider) age() time.Duration { return d.now.Sub(d.checks.report.At) }

// checksHold is what preflight has against the upgrade, or against n.
func (d *decider) checksHold(n *node) fleet.Hold {
	if len(d.checks.whole) > 0 {
		return d.wholeHold()
	}
	if f := d.checks.own[n.Name]; f != nil {
		return fleet.Hold{Reason: v1alpha1.ReasonPreflight, Message: told(f)}
	}
	return fleet.Hold{}
}

// wholeHold tells the first finding that holds everybody, and how many more.
// While a control plane is at work its pods and its member of etcd come and go:
// what is found then may be our own doing, and nobody has to look at it.
func (d *decider) wholeHold() fleet.Hold {
	if d.moving != nil {
		message := fmt.Sprintf("control-plane node %s is at work; the checks decide when it is done", d.moving.Name)
		return fleet.Hold{Reason: v1alpha1.ReasonNotItsTurn, Message: message}
	}
	message := told(d.checks.whole[0])
	switch more := len(d.checks.whole) - 1; more {
	case 0:
	case 1:
		message += " One more check blocks."
	default:
		message += fmt.Sprintf(" %d more checks block.", more)
	}
	return fleet.Hold{Reason: v1alpha1.ReasonPreflight, Message: message}
}

// told is what is wrong and what to do. Findings are sentences.
func told(f *v1alpha1.Finding) string { return strings.TrimSpace(f.Message + " " + f.Advice) }

// reportHold keeps everybody back, but who was let go before, until there is a
// report for how far the upgrade is. It is asked for only where nothing else
// holds: so preflight sees the cluster as it is when somebody goes.
func (d *decider) reportHold(n *node) fleet.Hold {
	c := &d.checks
	if c.key == "" || c.stay || n.promised() && n.released() && d.forTarget(n) {
		return fleet.Hold{}
	}
	if c.current() && (d.busy > 0 || d.age() < freshFor) {
		return fleet.Hold{}
	}
	c.missing = true
	if d.PreflightProblem != "" {
		return fleet.Hold{Reason: v1alpha1.ReasonPreflight, Message: "the checks that come before the next node could not be made: " + d.PreflightProblem}
	}
	return fleet.Hold{Reason: v1alpha1.ReasonPreflight, Message: "the checks that come before the next node have not run yet"}
}

// stopped is whether n does not go before somebody has acted on what preflight
// found.
func (d *decider) stopped(n *node) bool {
	return len(d.checks.whole) > 0 && d.moving == nil || d.checks.own[n.Name] != nil
}
