package render

import (
	"slices"
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
