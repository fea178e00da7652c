package report

import (
	"cmp"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// State is how far a node is, in one word.
type State string

// The states.
const (
	Done     State = "Done"     // it was upgraded
	UpToDate State = "UpToDate" // nothing had to be done
	Active   State = "Active"   // it is being upgraded
	Waiting  State = "Waiting"  // it begins later
	Failed   State = "Failed"   // it began and needs a person
	NotDone  State = "NotDone"  // the upgrade ended without it
)

// Node is how one node went.
type Node struct {
	Name         string `json:"name"`
	Group        string `json:"group,omitempty"`
	ControlPlane bool   `json:"controlPlane,omitempty"`
	State        State  `json:"state"`
	From         string `json:"from,omitempty"`
	To           string `json:"to,omitempty"`
	// StartTime is when the node first took its slot, and EndTime when it was back in
	// service.
	StartTime *time.Time `json:"startTime,omitempty"`
	EndTime   *time.Time `json:"endTime,omitempty"`
	Attempts  int32      `json:"attempts,omitempty"`
	// OutOfServiceSeconds is how long the node was cordoned, over all attempts.
	OutOfServiceSeconds int32  `json:"outOfServiceSeconds,omitempty"`
	Parts               []Part `json:"parts,omitempty"`
	// MethodMessage is why the node rebooted although the strategy has another method.
	MethodMessage string `json:"methodMessage,omitempty"`
	Steps         []Step `json:"steps,omitempty"`
	Waits         []Wait `json:"waits,omitempty"`
	// Reason and Message are why the node is not done, and Until is when that ends.
	Reason  v1alpha1.Reason `json:"reason,omitempty"`
	Message string          `json:"message,omitempty"`
	Until   *time.Time      `json:"until,omitempty"`
	// PredictedStartTime and PredictedEndTime are the planner's, for a node that has not
	// begun.
	PredictedStartTime *time.Time `json:"predictedStartTime,omitempty"`
	PredictedEndTime   *time.Time `json:"predictedEndTime,omitempty"`
	// Calendar is the index of the node's calendar.
	Calendar int `json:"calendar"`
}

// Step is one step with its times. End is absent while the node is in it.
type Step struct {
	Step  v1alpha1.Step `json:"step"`
	Start time.Time     `json:"start"`
	End   *time.Time    `json:"end,omitempty"`
}

// PartName names a measured part of a node's upgrade.
type PartName string

// The parts.
const (
	Kubeadm    PartName = "Kubeadm"    // kubeadm's part on a control plane, from slot to slot
	Reboot     PartName = "Reboot"     // the node's part, with a reboot
	SoftReboot PartName = "SoftReboot" // the node's part, with a soft reboot
	Restart    PartName = "Restart"    // the node's part, with a restart of the kubelet
)

// Part is how long a part took, without settling and observing, and how long it was
// expected to take.
type Part struct {
	Part            PartName `json:"part"`
	Seconds         int32    `json:"seconds"`
	ExpectedSeconds int32    `json:"expectedSeconds"`
}

// Wait is a time in which a node was ready to begin and did not.
type Wait struct {
	Start   time.Time       `json:"start"`
	End     time.Time       `json:"end"`
	Reason  v1alpha1.Reason `json:"reason,omitempty"` // empty: it is not known
	Message string          `json:"message"`
	// Derived reports whether the reason was derived from the schedules and from the times
	// of other nodes, and not read from the node's object.
	Derived bool `json:"derived,omitempty"`
}

// Waited returns how long the node waited in all.
func (n Node) Waited() (total time.Duration) {
	for _, w := range n.Waits {
		total += w.length()
	}
	return total
}

func (w Wait) span() span { return span{w.Start, w.End} }

func (w Wait) length() time.Duration { return w.span().length() }

// GroupName returns the node's group for people.
func (n Node) GroupName() string { return cmp.Or(n.Group, "other nodes") }
