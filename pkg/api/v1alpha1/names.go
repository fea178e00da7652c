package v1alpha1

// Names, labels and annotations that agent and coordinator share.
const (
	// Namespace holds our workloads and the slots' Leases.
	Namespace = "kubectl-upgrade"

	// PolicyName is the name of the one UpgradePolicy that counts.
	PolicyName = "cluster"

	// SlotLabel marks the Leases that are slots.
	SlotLabel = Group + "/slot"
	// ReservedForAnnotation on a slot's Lease is the node, as name/uid, that the
	// coordinator keeps the slot for. spec.holderIdentity, in the same form, is
	// the node that has taken it.
	ReservedForAnnotation = Group + "/reserved-for"

	// SlotAnnotation on a Node between its cordon and its uncordon is the name of
	// the slot that the node holds. It counts together with spec.slot of the
	// NodeUpgrade, as a kubelet may annotate its own Node.
	SlotAnnotation = Group + "/slot"
	// CordonAnnotation on a Node whose cordon is ours is the name of the
	// ClusterUpgrade that the node was cordoned for. A cordon without it is not
	// ours, and stays.
	CordonAnnotation = Group + "/cordoned-for"

	// HoldLabel on a Node keeps the node from being released, whatever its value
	// is. A node that has passed its last check finishes.
	HoldLabel = Group + "/hold"

	// UpgradeUIDLabel on an UpgradeRecord is the UID of the ClusterUpgrade that
	// the record is about.
	UpgradeUIDLabel = Group + "/upgrade-uid"

	// CreatedByAnnotation marks a ClusterUpgrade that the coordinator created
	// because the policy's automatic allows it.
	CreatedByAnnotation = Group + "/created-by"
	// CreatedByCoordinator is the annotation's value.
	CreatedByCoordinator = "coordinator"

	// RequestedByAnnotation on a ClusterUpgrade or MaintenanceSchedule is the name
	// of the user who asked for it, as the API server knows it. `kubectl upgrade`
	// writes it, and an admission policy lets nobody write another's name. Absent:
	// it came from elsewhere, such as Git.
	RequestedByAnnotation = Group + "/requested-by"
)

// Condition types. Reconciling and Stalled are there only while they are True, as
// kstatus expects.
const (
	// ConditionSucceeded of a ClusterUpgrade is True when every node that it
	// concerns runs what it asks for, False when it ended otherwise, and Unknown
	// before.
	ConditionSucceeded = "Succeeded"
	// ConditionUpToDate of a NodeUpgrade is True when the node runs what its spec
	// asks for. The node's agent owns it.
	ConditionUpToDate = "UpToDate"
	// ConditionAdmitted of a NodeUpgrade is True when the coordinator lets the node
	// begin, False when the node has to wait, and absent when there is nothing to
	// do. The coordinator owns it.
	ConditionAdmitted = "Admitted"
	// ConditionReconciling is True while something is being done or waits for its
	// turn.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is True when nothing moves until a person acts.
	ConditionStalled = "Stalled"
	// ConditionValid of a MaintenanceSchedule or UpgradePolicy is False when the
	// coordinator cannot understand it. A schedule that is not valid keeps every
	// window closed.
	ConditionValid = "Valid"
	// ConditionSourceReady of an UpgradePolicy is True when the index of images
	// was read and understood.
	ConditionSourceReady = "SourceReady"
	// ConditionWriteFailed of an UpgradePolicy is there, and True, while the API
	// server refuses something that the coordinator has to write: the message says
	// what, and why.
	ConditionWriteFailed = "WriteFailed"
)
