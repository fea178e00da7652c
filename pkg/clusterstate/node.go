package clusterstate

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Node is the part of a Node object that the planner uses.
type Node struct {
	Name   string            `json:"name"`
	UID    string            `json:"uid"`
	Labels map[string]string `json:"labels,omitempty"`
	// ControlPlane reports whether it has kubeadm's label of control planes.
	ControlPlane bool `json:"controlPlane,omitempty"`
	// OS is "linux", or another one, whose nodes are never upgraded.
	OS string `json:"os,omitempty"`
	// Architecture as Kubernetes names it: amd64 or arm64.
	Architecture string `json:"architecture,omitempty"`
	Ready        bool   `json:"ready,omitempty"`
	// NotReadySince is when it stopped being Ready. Nil: it is Ready, or that is not
	// known.
	NotReadySince *time.Time `json:"notReadySince,omitempty"`
	// AgentProblem is why no agent runs on the node, such as "ImagePullBackOff", and
	// AgentProblemSince since when. Empty: one does, or that is not known.
	AgentProblem      string     `json:"agentProblem,omitempty"`
	AgentProblemSince *time.Time `json:"agentProblemSince,omitempty"`
	// Kubelet is the version that runs, such as v1.34.3.
	Kubelet string `json:"kubelet,omitempty"`
	// BootID of the running system, as the kubelet reported it.
	BootID string `json:"bootID,omitempty"`
	// Cordoned reports whether another client cordoned it. It is upgraded like any
	// other, and that cordon stays.
	Cordoned bool `json:"cordoned,omitempty"`
	// SlotAnnotation is the slot in the Node's annotation while an upgrade keeps it out of
	// service. Its kubelet may write any value.
	SlotAnnotation string `json:"slot,omitempty"`
	// Guard is what the node's guard has written on the Node. Its kubelet may write any value.
	Guard *GuardReport `json:"guard,omitempty"`
	// Condition is as `kubectl get nodes` writes it, such as Ready,SchedulingDisabled, and
	// Created is when the Node joined. People are shown them; no plan uses them.
	Condition string    `json:"-"`
	Created   time.Time `json:"-"`
}

// Owner returns the node as an owner of slots.
func (n Node) Owner() Owner { return Owner{Node: n.Name, UID: n.UID} }

// Owner is the node that a slot is reserved for or held by. The UID distinguishes a
// node that was deleted and joined again with the same name.
type Owner struct {
	Node string
	UID  string
}

// String returns name/uid, as it is written into a Lease.
func (o Owner) String() string {
	return o.Node + "/" + o.UID
}

// ParseOwner parses what String returns.
func ParseOwner(s string) (Owner, error) {
	node, uid, ok := strings.Cut(s, "/")
	if !ok || node == "" || uid == "" || strings.Contains(uid, "/") {
		return Owner{}, fmt.Errorf("parsing slot owner %q: want NODE/UID", s)
	}
	return Owner{Node: node, UID: uid}, nil
}

// ControlPlaneSlot is the only slot that control-plane nodes use. So its Lease ensures that
// two of them are never out of service at once, for any budget and any number of
// coordinators.
const ControlPlaneSlot = "slot-0"

// SlotName returns the name of the slot with that index, from 0.
func SlotName(i int) string { return "slot-" + strconv.Itoa(i) }

// SlotIndex returns the index in a slot's name, and false if it is not the name of a slot.
func SlotIndex(name string) (int, bool) {
	digits, found := strings.CutPrefix(name, "slot-")
	if !found {
		return 0, false
	}
	i, err := strconv.Atoi(digits)
	return i, err == nil && i >= 0 && name == SlotName(i)
}

// Slot is one Lease that lets a node be out of service. The zero Owner means
// that the slot is not reserved, or not held.
type Slot struct {
	Name        string `json:"name"`
	ReservedFor Owner  `json:"reservedFor,omitzero"`
	Holder      Owner  `json:"holder,omitzero"`
	// Unreadable reports whether the Lease's owner cannot be parsed: the slot counts as
	// taken.
	Unreadable bool `json:"unreadable,omitempty"`
	// Unlabelled reports whether the Lease lacks the label by which agents find slots.
	Unlabelled bool `json:"unlabelled,omitempty"`
}

// Free reports whether the slot is neither reserved nor held.
func (s Slot) Free() bool {
	return !s.Unreadable && s.ReservedFor == Owner{} && s.Holder == Owner{}
}

// StaticPod is a pod of the control plane that kubeadm runs on a node.
type StaticPod struct {
	Node string `json:"node"`
	// Version is the tag of its image; empty if that is not a version.
	Version string `json:"version,omitempty"`
	Ready   bool   `json:"ready,omitempty"`
}

// Hold is why a node may not continue: a code, a sentence, and when the hold ends, if that
// is known. The zero Hold is no hold.
type Hold struct {
	Reason  v1alpha1.Reason `json:"reason,omitempty"`
	Message string          `json:"message,omitempty"`
	Until   *time.Time      `json:"until,omitempty"`
	// Stays reports whether this hold lasts until a person acts, although its reason
	// usually passes by itself.
	Stays bool `json:"-"`
}

// Holds reports whether h has a reason.
func (h Hold) Holds() bool { return h.Reason != "" }

// NeedsPerson reports whether h lasts until a person acts.
func (h Hold) NeedsPerson() bool { return h.Stays || h.Reason.Info().NeedsPerson }

// Stalls reports whether h lasts until a person solves a problem. What people decided
// themselves, such as to approve first, is none: it must not raise an alarm.
func (h Hold) Stalls() bool { return h.NeedsPerson() && !h.Reason.Info().HeldByPeople }
