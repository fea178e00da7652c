package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// HooksNamespace is the namespace of the CronJobs that hooks start, and of their Jobs.
const HooksNamespace = "kubectl-upgrade-hooks"

// Hook starts a Job from a suspended CronJob in the namespace kubectl-upgrade-hooks, as
// `kubectl create job --from` does. The CronJob's owner writes what runs, and lets the coordinator
// start it with a Role.
//
// +kubebuilder:validation:XValidation:rule="!has(self.nodeSelector) || !self.when.endsWith('Upgrade')",message="a hook of the whole upgrade has no node",fieldPath=".nodeSelector"
type Hook struct {
	// Name of the hook.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="must be of lower-case letters, digits and '-', begin with a letter, and end with a letter or digit"
	// +required
	Name string `json:"name"`
	// When it runs.
	// +required
	When HookPoint `json:"when"`
	// CronJobName is the name of the CronJob.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=52
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="must be the name of a CronJob in the namespace kubectl-upgrade-hooks"
	// +required
	CronJobName string `json:"cronJobName"`
	// NodeSelector selects the nodes around which it runs. Absent: every node.
	// +optional
	NodeSelector *LabelSelector `json:"nodeSelector,omitempty"`
	// TimeoutSeconds is how long the Job may take. Then it is ended, and the hook has failed.
	// +default=600
	// +kubebuilder:validation:Minimum=5
	// +kubebuilder:validation:Maximum=86400
	// +optional
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`
	// FailurePolicy says whether other nodes may begin after the hook has failed.
	// +default="Hold"
	// +optional
	FailurePolicy HookFailure `json:"failurePolicy,omitempty"`
}

// HookPoint is when a hook runs.
// +kubebuilder:validation:Enum=BeforeUpgrade;BeforeNode;AfterNode;AfterUpgrade;NodeFailed
type HookPoint string

// The points. Once the hooks before a node, or before the upgrade, have begun, those after it run in
// every way out.
const (
	BeforeUpgrade HookPoint = "BeforeUpgrade" // before the first node is released
	BeforeNode    HookPoint = "BeforeNode"    // before a node is released
	AfterNode     HookPoint = "AfterNode"     // when the node is back in service, or will not be
	AfterUpgrade  HookPoint = "AfterUpgrade"  // when the upgrade has ended
	NodeFailed    HookPoint = "NodeFailed"    // when a node has failed, before AfterNode
)

// OfUpgrade reports whether the hooks of this point run around the whole upgrade.
func (p HookPoint) OfUpgrade() bool { return p == BeforeUpgrade || p == AfterUpgrade }

// IsBefore reports whether the node, or the upgrade, waits for the hooks of this point.
func (p HookPoint) IsBefore() bool { return p == BeforeUpgrade || p == BeforeNode }

// HookFailure is what happens after a hook has failed.
// +kubebuilder:validation:Enum=Hold;Continue
type HookFailure string

// What happens.
const (
	HookHold     HookFailure = "Hold"     // no other node begins until a person retries the upgrade
	HookContinue HookFailure = "Continue" // as if it had succeeded
)

// HookTurn is one turn of a node, or a whole upgrade, with the hooks around it. They are those that
// the policy had when the turn began.
type HookTurn struct {
	// ID is another one for each turn.
	// +required
	ID int64 `json:"id"`
	// Upgrade that it belongs to.
	// +required
	Upgrade UpgradeReference `json:"upgrade"`
	// Version is the upgrade's; empty for a Reboot.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Version string `json:"version,omitempty"`
	// From is the version before: the node's kubelet's, or the oldest of the upgrade.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	From string `json:"from,omitempty"`
	// Node whose turn it is. Empty: it is the turn of the whole upgrade.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Node string `json:"node,omitempty"`
	// NodeUID is the Node's UID.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	NodeUID string `json:"nodeUID,omitempty"`
	// Release is what the node is released for.
	// +optional
	Release Release `json:"release,omitempty"`
	// Attempts is how many attempts of the node had failed before.
	// +optional
	Attempts int32 `json:"attempts,omitempty"`
	// StartTime is when the turn began.
	// +required
	StartTime metav1.Time `json:"startTime"`
	// TookSlot reports whether the node took its slot in this turn.
	// +optional
	TookSlot bool `json:"tookSlot,omitempty"`
	// Outcome is how the turn ended. Empty: it has not.
	// +optional
	Outcome HookOutcome `json:"outcome,omitempty"`
	// Gate that was closed when the turn ended before the node had begun. Empty: none was.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Gate string `json:"gate,omitempty"`
	// Unused is how many turns of the node in a row have ended so, up to this one or before it.
	// +optional
	Unused int32 `json:"unused,omitempty"`
	// PolicyGeneration is the policy's for which Unused counts: a change of its spec forgets them.
	// +optional
	PolicyGeneration int64 `json:"policyGeneration,omitempty"`
	// Hooks in the order in which they run.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	// +optional
	Hooks []HookRun `json:"hooks,omitempty"`
}

// HookOutcome is how a turn ended.
// +kubebuilder:validation:MaxLength=32
type HookOutcome string

// The outcomes of a node's turn. The one of an upgrade's turn is the upgrade's outcome, or Deleted.
const (
	TurnSucceeded  HookOutcome = "Succeeded"  // the node is done, or its control plane's components are
	TurnAborted    HookOutcome = "Aborted"    // it could not begin, or gave up
	TurnFailed     HookOutcome = "Failed"     // it failed
	TurnRolledBack HookOutcome = "RolledBack" // the guard returned it to its former version
	TurnAbandoned  HookOutcome = "Abandoned"  // a person abandoned it
	TurnDeleted    HookOutcome = "Deleted"    // the Node, or the upgrade, was deleted
)

// HookRun is a hook in a turn.
type HookRun struct {
	// Name of the hook.
	// +kubebuilder:validation:MaxLength=40
	// +required
	Name string `json:"name"`
	// When it runs.
	// +required
	When HookPoint `json:"when"`
	// CronJobName is that of the CronJob that its Job is made from.
	// +kubebuilder:validation:MaxLength=52
	// +required
	CronJobName string `json:"cronJobName"`
	// TimeoutSeconds is how long the Job may take.
	// +required
	TimeoutSeconds int32 `json:"timeoutSeconds"`
	// State of the hook.
	// +required
	State HookState `json:"state"`
	// Attempt is 0, and one more each time a person retries the hook.
	// +optional
	Attempt int32 `json:"attempt,omitempty"`
	// RetriedBy is the UID of the ClusterUpgrade with which a person retried the hook last, or of the newest that
	// retried another one when the turn began.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	RetriedBy string `json:"retriedBy,omitempty"`
	// Job is the Job's name.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Job string `json:"job,omitempty"`
	// JobUID is the Job's UID. Empty: it is not known to exist. One that is known and is gone is
	// never started again.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	JobUID string `json:"jobUID,omitempty"`
	// StartTime is when it was decided to start the Job; once it exists, when that was noticed.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// EndTime is when its end was noticed.
	// +optional
	EndTime *metav1.Time `json:"endTime,omitempty"`
	// Reason is why it failed, such as the Job's own reason.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Reason string `json:"reason,omitempty"`
	// Message in one sentence: why it failed, or why its Job could not be created yet.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Message string `json:"message,omitempty"`
}

// HookState is the state of a hook in a turn.
// +kubebuilder:validation:Enum=Pending;Running;Succeeded;Failed;Skipped
type HookState string

// The states.
const (
	HookPending   HookState = "Pending"
	HookRunning   HookState = "Running"
	HookSucceeded HookState = "Succeeded"
	HookFailed    HookState = "Failed"
	HookSkipped   HookState = "Skipped"
)

// Ended reports whether the hook will not run any more.
func (r *HookRun) Ended() bool { return r.State != HookPending && r.State != HookRunning }

// Deadline is when the Job has to have ended.
func (r *HookRun) Deadline() time.Time {
	return r.StartTime.Add(time.Duration(r.TimeoutSeconds) * time.Second)
}

// GivesUp reports whether the hook fails if its Job cannot be created until its deadline. Those after a
// node or an upgrade take away what was set: they are tried until they begin, or the policy has them no more.
func (r *HookRun) GivesUp() bool { return r.When != AfterNode && r.When != AfterUpgrade }

// Hook returns the policy's hook with that name. Nil: there is none.
func (p *UpgradePolicy) Hook(name string) *Hook {
	if p == nil {
		return nil
	}
	for i := range p.Spec.Hooks {
		if p.Spec.Hooks[i].Name == name {
			return &p.Spec.Hooks[i]
		}
	}
	return nil
}
