package view

import (
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// Status is the cluster on one screen. Its JSON is a shape that scripts may
// rely on; times are in UTC.
type Status struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Problems are why what follows may be old: the coordinator or an agent does not run.
	Problems []Problem `json:"problems,omitempty"`
	// Upgrade is the active one; nil where none is.
	Upgrade *Upgrade `json:"upgrade,omitempty"`
	// PredictedEnd is when the active one is expected to end, and PredictedFrom what that is known from. Nil: it
	// cannot be predicted, or was not asked for.
	PredictedEnd  *time.Time  `json:"predictedEnd,omitempty"`
	PredictedFrom *plan.Basis `json:"predictedFrom,omitempty"`
	// Queued are the names of those that wait behind it.
	Queued []string `json:"queued,omitempty"`
	// Last is the one that ended last.
	Last *Upgrade `json:"last,omitempty"`
	// Available is the newest patch that could be applied, while no upgrade is active. Empty: there is none,
	// or that is not known.
	Available string `json:"available,omitempty"`
	// Approvals are those that are missing.
	Approvals []Approval `json:"approvals,omitempty"`
	// Policy is absent where there is none yet, or it may not be read.
	Policy    *Policy    `json:"policy,omitempty"`
	Schedules []Schedule `json:"schedules"`
	Nodes     []Node     `json:"nodes"`
	// Unmanaged are the names of the nodes that the policy does not select.
	Unmanaged []string `json:"unmanaged,omitempty"`
	// APIServers are the versions of kube-apiservers that no managed node's kubelet runs, as after a Rollback.
	APIServers []string `json:"apiServers,omitempty"`
}

// Upgrade is a ClusterUpgrade.
type Upgrade struct {
	Name        string               `json:"name"`
	Type        v1alpha1.UpgradeType `json:"type,omitempty"`
	From        string               `json:"from,omitempty"`
	To          string               `json:"to,omitempty"`
	Progress    string               `json:"progress,omitempty"` // done/total
	TriggerTime *time.Time           `json:"triggerTime,omitempty"`
	EndTime     *time.Time           `json:"endTime,omitempty"`
	Outcome     v1alpha1.Outcome     `json:"outcome,omitempty"`
	Reason      v1alpha1.Reason      `json:"reason,omitempty"`
	Message     string               `json:"message,omitempty"`
	// RequestedBy is the user who requested it, or the policy. Empty: that is not known.
	RequestedBy string `json:"requestedBy,omitempty"`
	// Comment is why it was requested, if that was given.
	Comment string `json:"comment,omitempty"`
	People
	IgnoreChecks []v1alpha1.IgnoredCheck `json:"ignoreChecks,omitempty"`
	IgnoreGates  []v1alpha1.IgnoredGate  `json:"ignoreGates,omitempty"`
	// NamesNodes reports whether it is for nodes that a person named.
	NamesNodes bool `json:"-"`
	// Rollback is what else one of that type does, where the plan is shown.
	Rollback *Rollback `json:"-"`
	// Unblock is the command without which its version is not brought again. Empty: people do not block it.
	Unblock string `json:"-"`
	// Stalled reports whether the upgrade does not go on until a person acts.
	Stalled bool `json:"stalled,omitempty"`
	// Suspended reports whether people have suspended it, which its reason may not say yet.
	Suspended bool `json:"-"`
}

// Schedule is a MaintenanceSchedule, as the coordinator sees it now.
type Schedule struct {
	Name string `json:"name"`
	// State is Open, Closed, Excluded, Invalid, or Unknown while the
	// coordinator has not seen it.
	State   string     `json:"state"`
	Until   *time.Time `json:"until,omitempty"`
	Message string     `json:"message,omitempty"`
}

// Node is one node, its NodeUpgrade and its Node together.
type Node struct {
	Name string `json:"name"`
	// Labels are those of the Node. Nil where Nodes may not be read.
	Labels map[string]string `json:"-"`
	// Condition is as in `kubectl get nodes`: Ready,SchedulingDisabled. Empty
	// where Nodes may not be read.
	Condition string           `json:"condition,omitempty"`
	State     State            `json:"state"`
	Kubelet   string           `json:"kubelet,omitempty"`
	Staged    string           `json:"staged,omitempty"`
	Target    string           `json:"target,omitempty"`
	Release   v1alpha1.Release `json:"release,omitempty"`
	Step      v1alpha1.Step    `json:"step,omitempty"`
	Since     *time.Time       `json:"since,omitempty"`
	Reason    v1alpha1.Reason  `json:"reason,omitempty"`
	Message   string           `json:"message,omitempty"`
	Until     *time.Time       `json:"until,omitempty"`
	RetryTime *time.Time       `json:"retryTime,omitempty"`
	// OnHold reports whether the Node has the label that holds it.
	OnHold bool `json:"onHold,omitempty"`
	// Method is how the node activates its image, and MethodMessage why it is
	// not the one of the strategy.
	Method        v1alpha1.Method `json:"method,omitempty"`
	MethodMessage string          `json:"methodMessage,omitempty"`
	// Rehearsal is how the node's boot differed from its rehearsal, or what the guard had to do.
	Rehearsal string `json:"rehearsal,omitempty"`
	// KubeletLog is what the guard found before its rollback: units, journals, what was merged.
	KubeletLog string `json:"kubeletLog,omitempty"`
	// RebootReason is why a reboot is due; empty where none is.
	RebootReason string `json:"rebootReason,omitempty"`
	Slot         string `json:"slot,omitempty"`
	Agent        string `json:"agent,omitempty"`
	// AgentProblem is why no agent runs on the node; empty where one does, or where that
	// is not known.
	AgentProblem string `json:"agentProblem,omitempty"`
	Attempts     int32  `json:"attempts,omitempty"`
	// Installed is set where the status is that of one node.
	Installed []string            `json:"installed,omitempty"`
	Steps     []v1alpha1.StepTime `json:"steps,omitempty"`
}

// State is what a person wants to know of a node first.
type State string

// StateOf returns the state of a node that is at step.
func StateOf(step v1alpha1.Step) State {
	switch step {
	case "":
		return StateUnknown
	case v1alpha1.StepIdle:
		return StateDone
	}
	switch step.Info().Phase {
	case v1alpha1.PhaseInService:
		return StateWaiting
	case v1alpha1.PhaseStopped:
		return StateFailed
	case v1alpha1.PhaseUnsupported:
		return StateUnsupported
	}
	return StateActive
}

// OnlyNode returns the node with that name, if it is among them.
func OnlyNode(nodes []Node, name string) []Node {
	i := slices.IndexFunc(nodes, func(n Node) bool { return n.Name == name })
	if i < 0 {
		return nil
	}
	return nodes[i : i+1]
}

// The states of a node.
const (
	StateDone        State = "Done"        // up to date, or there is no upgrade
	StateActive      State = "Active"      // at work
	StateWaiting     State = "Waiting"     // will go by itself
	StateFailed      State = "Failed"      // needs a person
	StateUnsupported State = "Unsupported" // no upgrade changes its version
	StateUnknown     State = "Unknown"     // no agent has reported
)

// People are those who decided about an upgrade after it was requested.
type People struct {
	// Changed reports whether its spec was changed after it was created, and ChangedBy is
	// the user who did so last. Empty: that is not known.
	Changed   bool   `json:"changed,omitempty"`
	ChangedBy string `json:"changedBy,omitempty"`
	// ApprovedBy is the user who approved last. Empty: not known, or not approved.
	ApprovedBy string `json:"approvedBy,omitempty"`
}

// Policy is the UpgradePolicy, as the coordinator sees it now.
type Policy struct {
	// Mode is Observe or Manage.
	Mode v1alpha1.ManagementMode `json:"mode,omitempty"`
	// VersionsFrom is who decides on versions. Empty: those who create ClusterUpgrades.
	VersionsFrom v1alpha1.VersionsFrom       `json:"versionsFrom,omitempty"`
	Automatic    []v1alpha1.AutomaticUpgrade `json:"automatic,omitempty"`
	// Version is the one that new nodes are upgraded to.
	Version string `json:"version,omitempty"`
	// Source is the address of the folder of images.
	Source string `json:"source,omitempty"`
	// Gates are those of the policy, while an upgrade is active.
	Gates []plan.GateAnswer `json:"gates,omitempty"`
	// AutomaticHeld is why the next automatic upgrade waits, where that passes by itself: for minIntervalSeconds or
	// a cluster that this one follows, or because Cluster API decides on versions.
	AutomaticHeld *Problem `json:"automaticHeld,omitempty"`
	// TakenBack are versions that Rollbacks have taken back, while nodes run an older patch of
	// their minor.
	TakenBack []TakenBack `json:"takenBack,omitempty"`
	// Blocked are versions that people block, while nodes run an older patch of their minor.
	Blocked []v1alpha1.BlockedVersion `json:"blocked,omitempty"`
	// Problems are why the policy, or the source, cannot be understood.
	Problems []Problem `json:"problems,omitempty"`
}

// Problem is something that a person has to fix.
type Problem struct {
	Reason  v1alpha1.Reason `json:"reason"`
	Message string          `json:"message"`
	// HoldsNothing reports whether upgrades go on all the same.
	HoldsNothing bool `json:"-"`
}

// Approval is one that is missing.
type Approval struct {
	Upgrade string `json:"upgrade"`
	// Group that lacks it. Empty: the upgrade as a whole.
	Group string `json:"group,omitempty"`
	// Command gives it.
	Command string `json:"command"`
}

// Progress is an upgrade that is followed.
type Progress struct {
	Problems []Problem
	Upgrade  Upgrade
	// Nodes in the order in which they go.
	Nodes []NodeProgress
	// PredictedEnd is when the last of them is done, and PredictedFrom from what that was
	// predicted. Nil: that is not known.
	PredictedEnd  *time.Time
	PredictedFrom *plan.Basis
	// Expected is how long all of it was expected to take when it began, and Unmeasured reports whether no upgrade before it
	// was measured. Zero: that is not known.
	Expected   time.Duration
	Unmeasured bool
	// Newer is the newest patch of its version's minor that is offered, and may be asked for. Empty: there is none.
	Newer string
}

// NodeProgress is a node in it.
type NodeProgress struct {
	Node
	// Passes is how often the node has to take a slot, and PassesDone how often it
	// is done with that: a control plane that kubeadm changes goes in two passes.
	Passes, PassesDone int
	// PredictedStart is when it is expected to be taken out of service. Nil: that
	// is not known, or is over.
	PredictedStart *time.Time
}

// History is what `kubectl upgrade history -o json` prints: upgrades that have
// ended, the oldest first. Its shape is one that scripts may rely on; times are
// in UTC, to the second.
type History struct {
	APIVersion string  `json:"apiVersion"`
	Kind       string  `json:"kind"`
	Items      []Ended `json:"items"`
}

// Ended is an upgrade that has ended.
type Ended struct {
	// Object is the object it was read from, as kubectl names it.
	Object      string               `json:"-"`
	UID         string               `json:"-"`
	Name        string               `json:"name"`
	Type        v1alpha1.UpgradeType `json:"type,omitempty"`
	From        string               `json:"from,omitempty"`
	To          string               `json:"to,omitempty"`
	TriggerTime *time.Time           `json:"triggerTime,omitempty"`
	EndTime     *time.Time           `json:"endTime,omitempty"`
	Outcome     v1alpha1.Outcome     `json:"outcome"`
	Reason      v1alpha1.Reason      `json:"reason,omitempty"`
	Message     string               `json:"message,omitempty"`
	Nodes       v1alpha1.NodeCounts  `json:"nodes"`
	// RequestedBy is the user who requested it, or the policy. Empty: that is not known.
	RequestedBy string `json:"requestedBy,omitempty"`
	// Comment is why it was requested, if that was given.
	Comment string `json:"comment,omitempty"`
	People
	// RetryOf is the failed upgrade whose place it took.
	RetryOf      *v1alpha1.RetriedUpgrade `json:"retryOf,omitempty"`
	IgnoreChecks []v1alpha1.IgnoredCheck  `json:"ignoreChecks,omitempty"`
	IgnoreGates  []v1alpha1.IgnoredGate   `json:"ignoreGates,omitempty"`
	EtcdSnapshot *v1alpha1.EtcdSnapshot   `json:"etcdSnapshot,omitempty"`
	// Digests of the images that it brought.
	Digests []v1alpha1.ImageDigest `json:"digests,omitempty"`
	// Record is set where the history is that of one upgrade.
	Record []v1alpha1.NodeRecord `json:"record,omitempty"`
}

// ReleaseList is what `kubectl upgrade releases -o json` prints, the oldest minor
// first. Its shape is one that scripts may rely on.
type ReleaseList struct {
	APIVersion string  `json:"apiVersion"`
	Kind       string  `json:"kind"`
	Items      []Minor `json:"items"`
}

// Minor is a minor version of Kubernetes.
type Minor struct {
	Minor string `json:"minor"` // v1.34
	// Newest is the newest patch on offer for every architecture of the cluster;
	// absent where there is none.
	Newest string `json:"newest,omitempty"`
	// PartlyOffered is a newer one that is on offer for some architectures only.
	PartlyOffered string `json:"partlyOffered,omitempty"`
	// Blocked are the versions of the minor that are blocked or were taken back, with the reason.
	Blocked []v1alpha1.BlockedVersion `json:"blocked,omitempty"`
	// Runs and Staged count the nodes, by version.
	Runs    []Count         `json:"runs,omitempty"`
	Staged  []Count         `json:"staged,omitempty"`
	Support version.Support `json:"support"`
	// SupportEnds is the last day of it, such as 2026-10-27; absent where that is
	// not known.
	SupportEnds string `json:"supportEnds,omitempty"`
}

// Count is how many nodes there are of a version.
type Count struct {
	Version string `json:"version"`
	Nodes   int    `json:"nodes"`
}

// WindowList is what `kubectl upgrade windows -o json` prints. Its shape is one
// that scripts may rely on; times are in UTC, to the second.
type WindowList struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Items      []Window `json:"items"`
}

// Window is one opening: from start (in) to end (out).
type Window struct {
	Start time.Time `json:"start"`
	// End is absent where no end is known.
	End *time.Time `json:"end,omitempty"`
	// Windows names the windows that it comes from, as schedule/window.
	Windows []string `json:"windows"`
}

// NewWindowList returns the openings in the shape for scripts.
func NewWindowList(openings []schedule.Opening) WindowList {
	list := WindowList{APIVersion: v1alpha1.OutputVersion, Kind: "WindowList", Items: []Window{}}
	for _, o := range openings {
		w := Window{Start: o.Start.UTC().Truncate(time.Second), Windows: o.Windows}
		if !o.End.IsZero() {
			end := o.End.UTC().Truncate(time.Second)
			w.End = &end
		}
		list.Items = append(list.Items, w)
	}
	return list
}

// Freeze is one exclusion of a schedule that has no window.
type Freeze struct {
	Name        string
	From, Until time.Time
	Recurrence  string // From and Until are those of the first time
	Upgrades    []v1alpha1.UpgradeType
	Nodes       string // a selector; empty: every node
	By          string // what restores it from Git, or who requested it
	Reason      string
}
