package render

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
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
	// Queued are the names of those that wait behind it.
	Queued []string `json:"queued,omitempty"`
	// Last is the one that ended last.
	Last *Upgrade `json:"last,omitempty"`
	// Approvals are those that are missing.
	Approvals []Approval `json:"approvals,omitempty"`
	// Policy is absent where there is none yet, or it may not be read.
	Policy    *Policy    `json:"policy,omitempty"`
	Schedules []Schedule `json:"schedules"`
	Nodes     []Node     `json:"nodes"`
	// Unmanaged are the names of the nodes that the policy does not select.
	Unmanaged []string `json:"unmanaged,omitempty"`
}

// Upgrade is a ClusterUpgrade.
type Upgrade struct {
	Name           string               `json:"name"`
	Type           v1alpha1.UpgradeType `json:"type,omitempty"`
	From           string               `json:"from,omitempty"`
	To             string               `json:"to,omitempty"`
	Progress       string               `json:"progress,omitempty"` // done/total
	TriggerTime    *time.Time           `json:"triggerTime,omitempty"`
	CompletionTime *time.Time           `json:"completionTime,omitempty"`
	Outcome        v1alpha1.Outcome     `json:"outcome,omitempty"`
	Reason         v1alpha1.Reason      `json:"reason,omitempty"`
	Message        string               `json:"message,omitempty"`
	// RequestedBy is the user who requested it, or the policy. Empty: that is not known.
	RequestedBy string `json:"requestedBy,omitempty"`
	People
	IgnoreChecks []v1alpha1.IgnoredCheck `json:"ignoreChecks,omitempty"`
	// Stalled reports whether the upgrade does not go on until a person acts.
	Stalled bool `json:"stalled,omitempty"`
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
	// KubeletLog is the end of the kubelet's journal before the guard's rollback.
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

// The states of a node.
const (
	StateDone        State = "Done"        // up to date, or there is no upgrade
	StateActive      State = "Active"      // at work
	StateWaiting     State = "Waiting"     // will go by itself
	StateFailed      State = "Failed"      // needs a person
	StateUnsupported State = "Unsupported" // no upgrade changes its version
	StateUnknown     State = "Unknown"     // no agent has reported
)

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

// maxReasons is how many different reasons are shown in full.
const maxReasons = 5

// reasonRows returns in full what the lines of the table have no room for: what holds
// nodes up, one entry for all that have the same reason, and on a narrow terminal what
// the active nodes do.
func reasonRows(p Progress, o Options) [][2]cell {
	var rows [][2]cell
	add := func(title string, c color, of func(NodeProgress) bool) {
		entries := progressReasons(p, o, of)
		if len(entries) > maxReasons {
			entries = append(entries[:maxReasons-1], fmt.Sprintf("and %d more reasons; `kubectl upgrade status` has them all", len(entries)-maxReasons+1))
		}
		for _, entry := range entries {
			rows = append(rows, titled(title, cell{entry, c}))
			title = ""
		}
	}
	add("Blocked:", red, func(n NodeProgress) bool { return heldUp(n) })
	if o.narrow() {
		add("Active:", plain, func(n NodeProgress) bool { return n.State == StateActive && !heldUp(n) })
	}
	return rows
}

// reasons returns the different sentences of such nodes, with the nodes' names. One that
// the upgrade's message contains already is left out.
func progressReasons(p Progress, o Options, of func(NodeProgress) bool) []string {
	var order []string
	nodes := map[string][]string{}
	for _, n := range p.Nodes {
		why := progressWhy(n, o)
		if !of(n) || why == "" || n.Message != "" && strings.Contains(p.Upgrade.Message, n.Message) {
			continue
		}
		if nodes[why] == nil {
			order = append(order, why)
		}
		nodes[why] = append(nodes[why], n.Name)
	}
	for i, why := range order {
		order[i] = Few(nodes[why]) + ": " + why
	}
	return order
}

// says reports whether the lines above a table of nodes show this reason already, as the one of
// the whole upgrade: the table then has its code alone.
func upgradeSays(u *Upgrade, reason v1alpha1.Reason, message string) bool {
	return u != nil && message != "" && u.Reason == reason && u.Message == message
}

// mostNames is how many names Few returns.
const mostNames = 3

// Few returns the first names, such as "w-1, w-2, w-3 and 17 more".
func Few(names []string) string {
	if len(names) <= mostNames {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:mostNames], ", "), len(names)-mostNames)
}

// heldUp reports whether the node waits for more than its turn.
func heldUp(n NodeProgress) bool {
	switch n.State {
	case StateFailed:
		return true
	case StateActive:
		return n.Reason == v1alpha1.ReasonDrainBlocked || n.Reason == v1alpha1.ReasonNodeNotBack || n.Step == v1alpha1.StepAborting
	case StateWaiting:
		return n.Reason != "" && !n.Reason.Info().Routine
	}
	return false
}
