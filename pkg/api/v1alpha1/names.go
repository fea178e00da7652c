package v1alpha1

// What agent and coordinator agree on outside the three kinds' fields.
const (
	// Namespace holds our workloads and the slots' Leases.
	Namespace = "kubectl-upgrade"

	// SlotLabel marks the Leases that are slots.
	SlotLabel = Group + "/slot"
	// ReservedForAnnotation stands on a slot's Lease: the node, as name/uid,
	// that the coordinator keeps the slot for. spec.holderIdentity, in the
	// same form, is the node that has taken it.
	ReservedForAnnotation = Group + "/reserved-for"

	// SlotAnnotation stands on a Node that is between its cordon and its
	// uncordon: the name of the slot it holds. A deleted Lease is rebuilt
	// from it.
	SlotAnnotation = Group + "/slot"
	// CordonAnnotation stands on a Node whose cordon is ours: the name of the
	// ClusterUpgrade it was cordoned for. A cordon without it is somebody
	// else's, and stays.
	CordonAnnotation = Group + "/cordoned-for"

	// CreatedByAnnotation stands on a ClusterUpgrade that the coordinator
	// created because a schedule's `automatic` allows it.
	CreatedByAnnotation = Group + "/created-by"
	// CreatedByCoordinator is its value.
	CreatedByCoordinator = "coordinator"

	// RetryOfAnnotation stands on a ClusterUpgrade that takes the place of a
	// failed one, and names it: that one ends, and this one comes next.
	RetryOfAnnotation = Group + "/retry-of"

	// AbandonedAnnotation stands on a NodeUpgrade that a person gave up: its
	// value is the reason. The node's slot is freed. The coordinator takes it
	// away when the node's agent reports again.
	AbandonedAnnotation = Group + "/abandoned"
)

// Condition types of ClusterUpgrade and NodeUpgrade, readable by kstatus.
const (
	// ConditionSucceeded is True when every supported node is as wanted,
	// False when the upgrade ended otherwise, Unknown before.
	ConditionSucceeded = "Succeeded"
	// ConditionReconciling is True while something is being done or waits for
	// its turn.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is True when nothing will move until somebody acts.
	ConditionStalled = "Stalled"
)

// Condition types of MaintenanceSchedule.
const (
	// ConditionValid is False when the coordinator cannot understand the
	// schedule; such a schedule keeps every window closed.
	ConditionValid = "Valid"
)
