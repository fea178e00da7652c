package plan

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// Kind is how a Plan calls itself in JSON.
const Kind = "UpgradePlan"

// Decision is what a node may do.
type Decision string

// The decisions.
const (
	Go      Decision = "Go"      // it is let go, or is at work
	Wait    Decision = "Wait"    // it will go by itself
	Done    Decision = "Done"    // nothing is left to do
	Blocked Decision = "Blocked" // it goes when a person has acted
)

// Plan is what is to be done now.
type Plan struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Upgrade is the ClusterUpgrade that the plan is for, and Version its aim.
	// Both are empty where nothing is asked for.
	Upgrade string `json:"upgrade,omitempty"`
	Version string `json:"version,omitempty"`
	// Nodes in the order in which they go.
	Nodes []NodePlan `json:"nodes"`
	// PredictedStart is when the first of the nodes that are at work or still to
	// go began or will, with kubeadm on a control plane, and PredictedEnd when
	// the last is done. Nil where that is not known, as when a node stays
	// behind. Only Predict sets them.
	PredictedStart *time.Time `json:"predictedStart,omitempty"`
	PredictedEnd   *time.Time `json:"predictedEnd,omitempty"`
	// Findings are what preflight found for the upgrade when it ran last, what
	// blocks first.
	Findings []v1alpha1.Finding `json:"findings,omitempty"`
	// Create is an upgrade that the policy's `automatic` asks for.
	Create *v1alpha1.ClusterUpgrade `json:"create,omitempty"`
	// Next is when this plan may change though nothing happens. Nil: never.
	Next *time.Time `json:"next,omitempty"`

	// Statuses are the status that each unfinished ClusterUpgrade should have, and
	// each ended one that was changed since.
	Statuses []UpgradeStatus `json:"-"`
	// Records are those of the upgrades that end now, and Policy what the
	// policy's status should say: its version, upgrade and images; nil where
	// that stays as it is. Both are written before the upgrade's status.
	Records []v1alpha1.UpgradeRecord      `json:"-"`
	Policy  *v1alpha1.UpgradePolicyStatus `json:"-"`
	// Slots is what is to be done about the Leases.
	Slots SlotPlan `json:"-"`
	// NeedsPreflight asks for a new report, and PreflightKey is its key. No other
	// node is let go until a report with that key is there. Empty: none is needed.
	NeedsPreflight bool   `json:"-"`
	PreflightKey   string `json:"-"`
}

// NodePlan is what one node may do, and why it may not do more.
type NodePlan struct {
	Name     string          `json:"name"`
	Group    string          `json:"group"`
	From     string          `json:"from"`
	To       string          `json:"to"`
	Decision Decision        `json:"decision"`
	Reason   v1alpha1.Reason `json:"reason"`
	Message  string          `json:"message"`
	Until    *time.Time      `json:"until"`
	// Release is what the node is let do, with the slot kept for it.
	Release v1alpha1.Release        `json:"release,omitempty"`
	Kubeadm v1alpha1.KubeadmCommand `json:"kubeadm,omitempty"`
	Slot    string                  `json:"slot,omitempty"`
	// PredictedStart is when the node is expected to be taken out of service,
	// and PredictedEnd when it is back; on a control plane kubeadm runs before.
	// Nil where that is not known, or is over. Only Predict sets them.
	PredictedStart *time.Time `json:"predictedStart,omitempty"`
	PredictedEnd   *time.Time `json:"predictedEnd,omitempty"`

	// Returned reports whether the agent of a node that a person abandoned is heard
	// of again: the mark of that is to be taken away.
	Returned bool `json:"-"`
	// Managed reports whether the policy lets us manage the node. Any other has no
	// NodeUpgrade, but for one that is still at work.
	Managed bool `json:"-"`
	// Owner is the node as slots name it.
	Owner fleet.Owner `json:"-"`
	// Spec is the order that its NodeUpgrade should have.
	Spec v1alpha1.NodeUpgradeSpec `json:"-"`
}

// UpgradeStatus is the status that a ClusterUpgrade should have.
type UpgradeStatus struct {
	Name   string
	UID    string
	Status v1alpha1.ClusterUpgradeStatus
}

// Admission returns the condition Admitted of the node's NodeUpgrade: whether it
// is there, and whether it is True. Reason, Message and Until go into it.
func (n NodePlan) Admission() (present, admitted bool) {
	return n.Decision != Done, n.Decision == Go
}

// Decide says for every node what it may do at now, and what is to be written
// so that it happens. It takes time in proportion to the number of nodes.
func Decide(s fleet.Snapshot, now time.Time) Plan {
	return newPlanner(&s, now).plan()
}
