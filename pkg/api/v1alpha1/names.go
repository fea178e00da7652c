package v1alpha1

// Names, labels and annotations that agent and coordinator share.
const (
	// Namespace holds our workloads and the slots' Leases.
	Namespace = "kubectl-upgrade"

	// PolicyName is the name of the only UpgradePolicy that is used, and of the CoordinatorState.
	PolicyName = "cluster"

	// SlotLabel marks the Leases that are slots.
	SlotLabel = Group + "/slot"
	// ReservedForAnnotation on a slot's Lease names the node, as name/uid, that the
	// slot is reserved for. spec.holderIdentity, in the same form, names the node that
	// has taken it.
	ReservedForAnnotation = Group + "/reserved-for"

	// SlotAnnotation on a Node between its cordon and its uncordon is the name of the
	// slot that the node holds. It counts only if spec.slot of the NodeUpgrade names
	// the same slot, because a kubelet may annotate its own Node.
	SlotAnnotation = Group + "/slot"
	// CordonAnnotation on a Node that our agent cordoned names the ClusterUpgrade. A
	// cordon without it was set by another client, and stays.
	CordonAnnotation = Group + "/cordoned-for"

	// ScaleDownAnnotation on a Node says that our agent set AutoscalerAnnotation there, and is to remove it.
	ScaleDownAnnotation = Group + "/scale-down-disabled"
	// AutoscalerAnnotation on a Node, with the value true, keeps the cluster autoscaler from removing the machine:
	// a drained node looks unused. Source: the cluster autoscaler's FAQ.
	AutoscalerAnnotation = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
	// GuardAnnotation on a Node is what its guard found while no agent runs there that could report
	// it. The guard writes it as the node's kubelet; it counts for that node alone.
	GuardAnnotation = Group + "/guard"

	// NodeConditionReason is the reason of the conditions MaintenancePlanned, DrainInProgress,
	// Drained and MaintenanceInProgress of a Node that its agent wrote. One with another reason
	// is another client's.
	NodeConditionReason = "KubectlUpgrade"

	// HoldLabel on a Node, with any value, keeps the node from being released. A node
	// that has passed its last check finishes.
	HoldLabel = Group + "/hold"

	// RequestedForAnnotation on a NodeUpgrade is the UID of the ClusterUpgrade for which Cluster API
	// asks for the node. An admission policy rejects a change by a user without the verb request
	// on nodeupgrades.
	RequestedForAnnotation = Group + "/requested-for"

	// UpgradeUIDLabel on an UpgradeRecord is the UID of the ClusterUpgrade that
	// the record is about.
	UpgradeUIDLabel = Group + "/upgrade-uid"

	// CreatedByAnnotation marks a ClusterUpgrade that the coordinator created
	// because the policy's automatic allows it.
	CreatedByAnnotation = Group + "/created-by"
	// CreatedByCoordinator is the annotation's value.
	CreatedByCoordinator = "coordinator"

	// RequestedByAnnotation on a ClusterUpgrade or MaintenanceSchedule is the name of
	// the user who asked for it, as the API server knows it. `kubectl upgrade` writes
	// it, and an admission policy rejects any name but the user's own. Absent: the
	// object came from elsewhere, such as Git.
	RequestedByAnnotation = Group + "/requested-by"

	// FleetFreezeAnnotation, with any value, marks a freeze that `kubectl upgrade fleet freeze`
	// made, and that `kubectl upgrade fleet unfreeze` may delete.
	FleetFreezeAnnotation = Group + "/fleet-freeze"

	// ChangedByAnnotation on a ClusterUpgrade is the name of the user who changed its spec
	// last, and ChangedGenerationAnnotation the generation that this made: with another one
	// the name is that of an earlier change. `kubectl upgrade` writes both, and an admission
	// policy rejects any name but the user's own, and any generation but that one.
	ChangedByAnnotation         = Group + "/changed-by"
	ChangedGenerationAnnotation = Group + "/changed-generation"

	// PausedAnnotation on the DaemonSet of another program that reboots nodes is the
	// nodeSelector that its pods had before `kubectl upgrade migrate` paused it, as JSON. On a
	// Node it says that `kubectl upgrade migrate` paused FLUO there.
	PausedAnnotation = Group + "/paused"
	// MigratedAnnotation on the UpgradePolicy is what `kubectl upgrade migrate --apply` changed,
	// as JSON, for --undo.
	MigratedAnnotation = Group + "/migrated"
)

// Reasons of the condition Managed.
const (
	ManagedTakenOver   = "TakenOver"   // the agent may change the node
	ManagedGivingBack  = "GivingBack"  // the node is no longer managed, and something is left to undo
	ManagedNothingLeft = "NothingLeft" // nothing of kubectl-upgrade is on the node
)

// Condition types. Reconciling and Stalled are present only while they are True, as
// kstatus expects.
const (
	// ConditionSucceeded of a ClusterUpgrade is True when every node that it concerns
	// is up to date, False when it ended otherwise, and Unknown before.
	ConditionSucceeded = "Succeeded"
	// ConditionCompleted of a ClusterUpgrade is True when it has ended, well or not.
	ConditionCompleted = "Completed"
	// ConditionUpToDate of a NodeUpgrade is True when the node runs the version in its
	// spec. The node's agent owns it.
	ConditionUpToDate = "UpToDate"
	// ConditionAdmitted of a NodeUpgrade is True when the coordinator has released the
	// node, False when the node has to wait or is not managed, and absent when the node is
	// at work, or there is nothing to do.
	// The coordinator owns it.
	ConditionAdmitted = "Admitted"
	// ConditionManaged of a NodeUpgrade is True while kubectl-upgrade keeps files on the
	// node, and False when nothing of it is left there. The node's agent owns it.
	ConditionManaged = "Managed"
	// ConditionReconciling is True while something is in progress, or waits to continue
	// by itself or as people decide: for a window, or for an approval.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is True when a person must solve a problem.
	ConditionStalled = "Stalled"
	// ConditionValid of a MaintenanceSchedule or UpgradePolicy is False when it is
	// invalid. An invalid schedule keeps every window closed.
	ConditionValid = "Valid"
	// ConditionReady of a MaintenanceSchedule or UpgradePolicy is True when it is valid and, of an
	// UpgradePolicy, its source was read.
	ConditionReady = "Ready"
	// ConditionOpen of a MaintenanceSchedule is True while a window of it is open. Its reason is
	// status.state, and its message the comment of the exclusion that holds, or why the schedule is invalid.
	ConditionOpen = "Open"
	// ConditionSourceReady of an UpgradePolicy is True when the index of images
	// was read and understood.
	ConditionSourceReady = "SourceReady"
	// ConditionWriteFailed of an UpgradePolicy is present, and True, while the API
	// server refuses a write of the coordinator. The message says which, and why.
	ConditionWriteFailed = "WriteFailed"
	// ConditionAutomaticHeld of an UpgradePolicy is present, and True, while no automatic
	// patch can be chosen, as parts of the cluster run different minors or report a version
	// that cannot be read: the message names two parts. It is also present while an automatic
	// upgrade waits for minIntervalSeconds: the message says until when.
	ConditionAutomaticHeld = "AutomaticHeld"
	// ConditionNoticesFailed of an UpgradePolicy is present, and True, while a notice cannot
	// be sent.
	ConditionNoticesFailed = "NoticesFailed"
	// ConditionSilencesFailed of an UpgradePolicy is present, and True, while an Alertmanager does
	// not take a silence.
	ConditionSilencesFailed = "SilencesFailed"
	// ConditionMetricsFailed of an UpgradePolicy is present, and True, while the coordinator that leads cannot serve its
	// metrics, as another program of its node has the port.
	ConditionMetricsFailed = "MetricsFailed"
)
