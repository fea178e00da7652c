package plan

import (
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// Kind is a Plan's kind in JSON.
const Kind = "UpgradePlan"

// Decision is what a node may do.
type Decision string

// The decisions.
const (
	Go      Decision = "Go"      // it is released, or being upgraded
	Wait    Decision = "Wait"    // it begins later by itself
	Done    Decision = "Done"    // nothing is left to do
	Blocked Decision = "Blocked" // a person must act first, or a lost node must come back
)

// Plan is what the coordinator has to do now.
type Plan struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Upgrade is the ClusterUpgrade that the plan is for, and Version its target
	// version. Both are empty if there is none.
	Upgrade string `json:"upgrade,omitempty"`
	Version string `json:"version,omitempty"`
	// Nodes are in upgrade order.
	Nodes []NodePlan `json:"nodes"`
	// PredictedStart is when the first node began or will begin, with kubeadm on a
	// control plane, and PredictedEnd when the last is done. Nil: not known, as when a
	// node cannot be upgraded. Only Predict sets them.
	PredictedStart *time.Time `json:"predictedStart,omitempty"`
	PredictedEnd   *time.Time `json:"predictedEnd,omitempty"`
	// PredictedFrom is what the prediction was made from. Nil: there is none.
	PredictedFrom *Basis `json:"predictedFrom,omitempty"`
	// Pass1 is when kubeadm runs on control planes before the first node goes out of service. Nil: it does not, or that is not
	// known. Only Predict sets it.
	Pass1 *Pass `json:"-"`
	// Findings are the results of the last preflight run for the upgrade, those that
	// block first.
	Findings []v1alpha1.Finding `json:"findings,omitempty"`
	// Gates are the policy's gates with their last answers, if there is an upgrade.
	Gates []GateAnswer `json:"gates,omitempty"`
	// Create is an upgrade that the policy's `automatic` asks for.
	Create *v1alpha1.ClusterUpgrade `json:"create,omitempty"`
	// AutomaticHold is why `automatic` creates nothing, if the versions that run do not let
	// it choose a patch, or what it would create waits for minIntervalSeconds.
	AutomaticHold clusterstate.Hold `json:"automaticHold,omitzero"`
	// Next is when this plan may change although nothing happens. Nil: never.
	Next *time.Time `json:"next,omitempty"`

	// Target is that upgrade with the status that it should have. Nil: there is none. For
	// late nodes it is the one that has ended, as the policy's status describes it.
	Target *v1alpha1.ClusterUpgrade `json:"-"`
	// Statuses are the statuses that unfinished ClusterUpgrades should have, and ended
	// ones whose spec changed since.
	Statuses []UpgradeStatus `json:"-"`
	// Records are the records of the upgrades that end now. Policy is the version,
	// upgrade and images that the policy's status should have; nil: they stay. Both are
	// written before the upgrade's status.
	Records []v1alpha1.UpgradeRecord  `json:"-"`
	Policy  *v1alpha1.RememberedState `json:"-"`
	// AskGates are the gates of the policy that are to be asked, again and again.
	AskGates []v1alpha1.Gate `json:"-"`
	// HookTurns and LastHookTurn are what the policy's status should have, and HooksRun reports
	// whether a Job of a hook is to be waited for.
	HookTurns    []v1alpha1.HookTurn `json:"-"`
	LastHookTurn int64               `json:"-"`
	HooksRun     bool                `json:"-"`
	// Ran is what the policy's status should have.
	Ran []v1alpha1.RanVersion `json:"-"`
	// TakenBack is what the policy's status should have.
	TakenBack []v1alpha1.TakenBackVersion `json:"-"`
	// Slots is what is to be done about the Leases.
	Slots SlotPlan `json:"-"`
	// NeedsPreflight asks for a new report, and PreflightKey is its key. No other node
	// is released until there is a report with that key. Empty: none is needed.
	NeedsPreflight bool   `json:"-"`
	PreflightKey   string `json:"-"`
}

// Pass is the time from the first of these nodes to the last.
type Pass struct {
	Nodes      []string
	Start, End time.Time
}

// NodePlan is what one node may do, and why it may not do more.
type NodePlan struct {
	Name string `json:"name"`
	// Group is the name of its group in the strategy: ControlPlaneGroup, or empty for
	// nodes in none of the strategy's groups.
	Group string `json:"group"`
	// From is the kubelet's version now, and To the upgrade's. To is empty for a Reboot,
	// and without an upgrade.
	From     string   `json:"from"`
	To       string   `json:"to"`
	Decision Decision `json:"decision"`
	// Reason and Message are why the node may do that and no more. Until is when the
	// reason ends; nil: not known, or it does not end by itself.
	Reason  v1alpha1.Reason `json:"reason"`
	Message string          `json:"message"`
	Until   *time.Time      `json:"until"`
	// Release is how far the node may go. Kubeadm is which kubeadm upgrade it runs.
	Release v1alpha1.Release        `json:"release,omitempty"`
	Kubeadm v1alpha1.KubeadmCommand `json:"kubeadm,omitempty"`
	// Slot is the slot to reserve for a node that begins now. It is empty for a node
	// that has begun: Spec.Slot names the slot of that one.
	Slot string `json:"slot,omitempty"`
	// PredictedStart is when the node is expected to go out of service, and
	// PredictedEnd when it is back; on a control plane kubeadm runs before. Nil: not
	// known, or over. Only Predict sets them.
	PredictedStart *time.Time `json:"predictedStart,omitempty"`
	PredictedEnd   *time.Time `json:"predictedEnd,omitempty"`

	// Zone is the zone of the node. Empty: not known.
	Zone string `json:"-"`
	// Returned reports whether the agent of an abandoned node reports again, so that
	// the field abandoned is to be removed.
	Returned bool `json:"-"`
	// Managed reports whether the node may be changed: the policy's mode is Manage, and
	// its nodeSelector matches the node. Without a policy it is as it was.
	Managed bool `json:"-"`
	// Began reports whether the node has begun, or seems to: its agent says so, or a slot is its own.
	Began bool `json:"-"`
	// AtWorkFor is the upgrade that the node is at work for, if that is another one than the plan's. Empty: it is none.
	AtWorkFor string `json:"-"`
	// NothingToDo is why the plan's upgrade has nothing to do on the node: UpToDate or NotSelected. Empty: it has.
	NothingToDo v1alpha1.Reason `json:"-"`
	// HasAgent reports whether an agent runs on the node, or did: it has reported facts.
	HasAgent bool `json:"-"`
	// Owner identifies the node in slots.
	Owner clusterstate.Owner `json:"-"`
	// Spec is the spec that its NodeUpgrade should have.
	Spec v1alpha1.NodeUpgradeSpec `json:"-"`
}

// ReleasedMessage is what is said of a node that is released.
const ReleasedMessage = "the coordinator released the node"

// UpgradedMessage is what is said of an upgrade whose first active node has that name.
func UpgradedMessage(node string) string { return "node " + node + " is being upgraded" }

// UpgradeStatus is the status that a ClusterUpgrade should have.
type UpgradeStatus struct {
	Name   string
	UID    string
	Status v1alpha1.ClusterUpgradeStatus
}

// Admission returns whether the node's NodeUpgrade should have the condition Admitted,
// and whether that is True. Its details are Reason, Message and Until. A node that is at work
// has none.
func (n NodePlan) Admission() (present, admitted bool) {
	switch n.Reason {
	case v1alpha1.ReasonUnmanaged, v1alpha1.ReasonObserved, v1alpha1.ReasonPolicyMissing:
		return true, n.Decision == Go
	}
	return n.Decision != Done && (n.Decision != Go || !n.Began), n.Decision == Go
}

// Decide returns what every node may do at now, and what to write for that. Its running
// time is proportional to the number of nodes.
func Decide(s clusterstate.Snapshot, now time.Time) Plan {
	return newPlanner(&s, now).plan()
}

// planner makes a Plan. newPlanner decides, and the methods turn into a Plan what it
// decided: the cluster, the queue and the verdicts.
type planner struct {
	cluster  *cluster
	survey   *survey
	queue    queue
	verdicts []verdict
	turns    turns // as they are to be
	missing  bool  // a node waits only for a preflight report
	wake     wakeTime
}

// newPlanner reads the snapshot, chooses the active upgrade, and decides for each node.
func newPlanner(s *clusterstate.Snapshot, now time.Time) *planner {
	p := &planner{wake: wakeTime{now: now}}
	r := read(s, now)
	p.queue = r.newQueue(&p.wake)
	p.cluster = newCluster(r, p.queue)
	p.survey = newSurvey(p.cluster)
	p.verdicts, p.turns, p.missing = verdictsOf(p.survey, &p.wake)
	return p
}

// plan returns the decision as a Plan.
func (p *planner) plan() Plan {
	out := Plan{APIVersion: v1alpha1.OutputVersion, Kind: Kind, Nodes: make([]NodePlan, 0, len(p.cluster.nodes))}
	out.Create, out.AutomaticHold = p.cluster.automatic(p.queue, &p.wake)
	if t := p.cluster.target; t != nil {
		out.Upgrade, out.Version, out.Target = t.Name, t.Spec.Version, p.reported(t)
	}
	for i, n := range p.cluster.nodes {
		out.Nodes = append(out.Nodes, p.survey.nodePlan(n, p.verdicts[i]))
	}
	out.NeedsPreflight, out.PreflightKey = p.cluster.needsChecks(p.missing), p.cluster.checks.key
	if p.cluster.checks.lastReport != nil {
		out.Findings = p.cluster.checks.lastReport.Findings
	}
	p.addStatuses(&out)
	out.TakenBack = p.takenBack()
	out.Ran = p.ran(&out)
	if p.cluster.target != nil {
		out.Gates = Gates(p.cluster.reading.snapshot.Policy, p.cluster.target.Spec)
	}
	out.AskGates = p.cluster.gatesToAsk()
	out.HookTurns, out.LastHookTurn, out.HooksRun = p.turns.stored(), p.turns.last, p.turns.anyRuns()
	out.Slots = p.cluster.slotPlan(p.verdicts)
	out.Next = p.next(out.Nodes)
	return out
}

// next returns the earliest instant after now at which the plan may change by itself.
func (p *planner) next(nodes []NodePlan) *time.Time {
	for i := range nodes {
		p.wake.at(nodes[i].Until)
	}
	for _, n := range p.cluster.nodes {
		p.wake.at(p.cluster.lostAt(n))
		if n.open || n.busy() {
			p.wake.at(n.stuckAt())
		}
	}
	for _, until := range p.cluster.reading.snapshot.KeptUntil {
		p.wake.at(&until)
	}
	for _, m := range p.cluster.reading.snapshot.RebootManagers {
		if m.Since != nil {
			overdue := m.Since.Add(lockLimit)
			p.wake.at(&overdue)
		}
	}
	if p.cluster.reading.snapshot.Policy != nil {
		for _, gate := range p.cluster.reading.snapshot.Policy.Status.Gates {
			overdue := gate.SinceTime.Add(stuckAfter)
			p.wake.at(&overdue)
		}
	}
	p.turns.wake(&p.wake)
	if p.cluster.checks.blocks && !p.cluster.target.hold.Holds() {
		again := p.cluster.checks.lastReport.At.Add(recheckAfter)
		p.wake.at(&again)
	}
	return p.wake.next
}

// FirstAndLast returns the nodes that are expected to go out of service first, and to be back last.
// Nil: no time is known for any node.
func (p *Plan) FirstAndLast() (first, last *NodePlan) {
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if n.PredictedStart != nil && (first == nil || n.PredictedStart.Before(*first.PredictedStart)) {
			first = n
		}
		if n.PredictedEnd != nil && (last == nil || !n.PredictedEnd.Before(*last.PredictedEnd)) {
			last = n
		}
	}
	return first, last
}

// maxMessage is the API's limit on a message.
const maxMessage = 1024

// nodePlan returns the plan for the node.
func (s *survey) nodePlan(n *node, v verdict) NodePlan {
	p := NodePlan{
		Name: n.Name, Group: s.cluster.groups[n.group].name, From: n.Kubelet, Zone: n.Labels[zoneLabel],
		Decision: v.decision, Reason: v.hold.Reason, Message: clip(v.hold.Message), Until: v.hold.Until,
		Release: v.release, Kubeadm: v.kubeadm, Slot: v.slot,
		Returned: n.returned(), Managed: s.cluster.manages(n), Began: n.busy(), HasAgent: n.facts != nil, Owner: n.Owner(), Spec: s.newSpec(n, v),
	}
	p.Spec.Managed = p.Managed
	switch {
	case !n.concerned:
		p.NothingToDo = v1alpha1.ReasonNotSelected
	case n.upToDate:
		p.NothingToDo = v1alpha1.ReasonUpToDate
	}
	if n.busy() && n.spec.Upgrade != nil && !s.cluster.specIsForTarget(n) {
		p.AtWorkFor = n.spec.Upgrade.Name
	}
	if s.cluster.target != nil {
		p.To = s.cluster.target.Spec.Version
	}
	return p
}

// manages reports whether the node may be changed. Without a policy that stays as it was
// ordered last.
func (c *cluster) manages(n *node) bool {
	if c.reading.policyHold.Reason == v1alpha1.ReasonPolicyMissing {
		return n.spec.Managed
	}
	return n.managed && c.reading.policyHold.Reason != v1alpha1.ReasonObserved
}

// newSpec returns the NodeUpgrade.spec to write, but for its field managed. It is empty if
// there is no upgrade that can be triggered and concerns the node, or if that upgrade has
// ended and the node is up to date. For a node that has begun, only the release changes, and
// what loosens its drain and its wait. A failed node may get a spec for another upgrade, or an empty one if
// it is no longer managed, and then aborts its attempt.
func (s *survey) newSpec(n *node, v verdict) v1alpha1.NodeUpgradeSpec {
	var spec v1alpha1.NodeUpgradeSpec
	switch {
	case n.failed() && !s.cluster.manages(n):
	case (!n.failed() || s.cluster.specIsForTarget(n)) && (n.busy() || n.released() && !s.cluster.specIsForTarget(n)):
		spec = *n.spec.DeepCopy()
		if pace := s.cluster.groups[n.group].pace; s.cluster.specIsForTarget(n) {
			spec.Whole = loosenedWhole(spec.Whole, pace.Whole)
			if n.mayDrain() {
				spec.Drain = loosened(spec.Drain, pace.Drain)
			}
		}
	case s.cluster.target == nil || s.cluster.target.hold.Holds() || !n.concerned || s.cluster.target.forLateNodes && n.upToDate:
	default:
		spec = s.startSpec(n, v)
	}
	if spec.Upgrade == nil && !v.release.Granted() {
		return spec
	}
	if spec.Release = v.release; !spec.Release.Granted() {
		spec.ExpectedSeconds = nil
	}
	return spec
}

// startSpec returns the NodeUpgrade.spec of a node that has not begun.
func (s *survey) startSpec(n *node, v verdict) v1alpha1.NodeUpgradeSpec {
	spec := v1alpha1.NodeUpgradeSpec{
		Upgrade: ptr.To(s.cluster.target.Reference()),
		Type:    s.cluster.target.typeFor(n),
		Version: s.cluster.target.Spec.Version,
		Image:   imageFor(s.cluster.target.Status.Images, n.Architecture),
		Method:  s.cluster.target.methodAsked(n),
		Pace:    s.cluster.groups[n.group].pace,
		Kubeadm: v.kubeadm,

		FromBootID: s.cluster.target.Status.BootOf(n.Name),
		HoldAfter:  s.cluster.target.back && s.cluster.target.Spec.NodeSelector != nil,
	}
	if n == s.snapshotNode || s.cluster.snapshotUnrecorded(n) {
		spec.EtcdSnapshotPolicy = v1alpha1.EtcdSnapshotRequired
	}
	if v.release.Granted() {
		spec.Slot = v.slot
		spec.ExpectedSeconds = ptr.To(int32(s.expectedDuration(n).Seconds()))
	}
	return spec
}

func imageFor(images []v1alpha1.Image, architecture string) *v1alpha1.Image {
	for i := range images {
		if string(images[i].Architecture) == architecture {
			return &images[i]
		}
	}
	return nil
}

// clip shortens a message to the API's limit.
func clip(message string) string { return shorten(message, maxMessage) }

func shorten(message string, limit int) string {
	if len(message) <= limit {
		return message
	}
	return strings.ToValidUTF8(message[:limit-3], "") + "..."
}
