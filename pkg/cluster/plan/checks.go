package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
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
	lastReport *clusterstate.Preflight      // the last report for the upgrade, whatever its key; nil: none
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
	report := c.reading.snapshot.Preflight
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
		case f.ID == preflight.LastBackend, f.ID == v1alpha1.CheckRehearsal: // filters decide with current data
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
// control-plane node is about to begin, when a person changes the upgrade or the policy blocks its
// version, and when the health of the control plane changes: a pod that was not Ready for a moment, or a control
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
	for _, pod := range slices.Concat(c.apiServers, c.etcd, c.reading.snapshot.Controllers) {
		if !pod.Ready {
			complaints++
		}
	}
	key := fmt.Sprintf("%s/%d %s kubeadm/%d kubelet/%d unhealthy/%d",
		c.target.Name, c.target.Generation, c.target.Spec.Version, components, nodes, complaints)
	if c.reading.snapshot.Policy.Blocked(c.target.Spec.Version) != nil {
		key += " blocked"
	}
	return key
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
func (a *allocation) notChecked(n *node) clusterstate.Hold {
	k := a.cluster.checks
	if k.key == "" || n.reserved() && n.released() && a.cluster.specIsForTarget(n) {
		return clusterstate.Hold{}
	}
	if k.current() && a.cluster.now.Sub(k.lastReport.At) < freshFor {
		return clusterstate.Hold{}
	}
	a.missing = true
	message := "the checks that come before the next node have not run yet"
	if a.cluster.reading.snapshot.PreflightProblem != "" {
		message = "the checks that come before the next node could not be made: " + a.cluster.reading.snapshot.PreflightProblem
	}
	return clusterstate.Hold{Reason: v1alpha1.ReasonPreflight, Message: message}
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

// maxFindings is the API's limit on the findings that a status lists.
const maxFindings = 128

// noteFindings writes the report into the upgrade's status, unless that has a later
// one.
func (k checks) noteFindings(u *v1alpha1.ClusterUpgrade) {
	report := k.lastReport
	if report == nil {
		return
	}
	at := metav1.NewMicroTime(report.At.UTC().Truncate(time.Microsecond))
	if last := u.Status.PreflightTime; last != nil && !last.Before(&at) {
		return
	}
	u.Status.PreflightTime, u.Status.Findings = &at, bounded(withIgnored(report.Findings, u.Status.Findings))
}

// withIgnored adds the findings that were ignored before and are not found any more,
// after those that block now: the record must list them.
func withIgnored(found, before []v1alpha1.Finding) []v1alpha1.Finding {
	list := slices.Clone(found)
	for _, was := range before {
		again := func(f v1alpha1.Finding) bool { return f.ID == was.ID && f.Object == was.Object && f.Node == was.Node }
		if !was.Ignored || was.Level != v1alpha1.LevelBlock || slices.ContainsFunc(list, again) {
			continue
		}
		at := slices.IndexFunc(list, func(f v1alpha1.Finding) bool { return f.Level != v1alpha1.LevelBlock })
		if at < 0 {
			at = len(list)
		}
		list = slices.Insert(list, at, was)
	}
	return list
}

// bounded returns the findings within the API's limits.
func bounded(findings []v1alpha1.Finding) []v1alpha1.Finding {
	list := slices.Clone(preflight.Bound(findings, maxFindings))
	list = list[:min(len(list), maxFindings)]
	for i := range list {
		list[i].Message, list[i].Advice = clip(list[i].Message), clip(list[i].Advice)
		list[i].Object.Name = shorten(list[i].Object.Name, maxName)
	}
	return list
}

// webhooks are the admission webhooks that can block requests, and on which nodes they
// have ready backends.
type webhooks struct {
	all []clusterstate.Webhook
	of  map[string][]int // by node that may answer; into all
}

// readWebhooks returns the webhooks by node; none if the check is ignored.
func (c *cluster) readWebhooks() webhooks {
	w := webhooks{of: map[string][]int{}}
	if len(c.reading.snapshot.Webhooks) == 0 || c.target == nil || c.target.Spec.Ignores(preflight.LastBackend) {
		return w
	}
	w.all = c.reading.snapshot.Webhooks
	lost := map[string]bool{}
	for _, n := range c.nodes {
		if n.losesBackends() {
			lost[n.Name] = true
		}
	}
	for i, one := range w.all {
		for _, node := range one.Nodes {
			if !lost[node] {
				w.of[node] = append(w.of[node], i)
			}
		}
	}
	return w
}

// losesBackends reports whether the backends on the node do not count, although the
// upgrade does not count it as out of service. EndpointSlices lag behind the Node.
func (n *node) losesBackends() bool {
	return !n.Ready && !n.concerned || n.busy() && n.abandoned != nil
}

// backed returns for each webhook how many nodes have a backend that counts.
func (w webhooks) backed() []int {
	backed := make([]int, len(w.all))
	for _, of := range w.of {
		for _, i := range of {
			backed[i]++
		}
	}
	return backed
}

// onlyOn reports whether a webhook has backends only on this node.
func (w webhooks) onlyOn(n *node) bool {
	for _, i := range w.of[n.Name] {
		if len(w.all[i].Nodes) == 1 {
			return true
		}
	}
	return false
}

// lastBackend holds a node that has the last ready backend of a webhook: requests to
// the webhook would fail. Pass 1 and a restart evict no pods.
func (a *allocation) lastBackend(n *node) clusterstate.Hold {
	if a.survey.pass1 || n.method == v1alpha1.MethodRestart {
		return clusterstate.Hold{}
	}
	for _, i := range a.cluster.webhooks.of[n.Name] {
		if a.backed[i] > 1 {
			continue
		}
		message := fmt.Sprintf("webhook %s would lose its last ready backend with this node, and requests fail without it", a.cluster.webhooks.all[i])
		if len(a.cluster.webhooks.all[i].Nodes) > 1 {
			message += ": the nodes with its other backends are out of service"
		} else {
			message += "; run a second replica of its backend on another node"
		}
		return clusterstate.Hold{Reason: v1alpha1.ReasonWebhookBackend, Message: message, Stays: a.cluster.webhooks.onlyOn(n)}
	}
	return clusterstate.Hold{}
}
