package machine

import (
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// State is the node's progress, which NodeUpgrade.status persists. Its fields mean what
// they mean there; a zero time means none.
type State struct {
	Upgrade      v1alpha1.UpgradeReference // zero if none
	From         string                    // the kubelet's version when Upgrade began here
	Step         v1alpha1.Step
	Since        time.Time
	Reason       v1alpha1.Reason
	Message      string
	Until        time.Time
	Attempts     int32
	Failures     int32 // attempts that failed on this node
	RetryAt      time.Time
	RebootedFrom string
	// FromSoftReboots is how many soft reboots there had been in the boot RebootedFrom.
	FromSoftReboots int32
	// Snapshot is the snapshot of etcd that this node took for Upgrade.
	Snapshot *v1alpha1.EtcdSnapshot
	// AttachedVolumes are those that the node waits for: the Node no longer lists one whose
	// detachment has begun.
	AttachedVolumes []string
	// Parts are what the node had before it went out of service. Nil: that is not known, or it is in service.
	Parts *v1alpha1.NodeParts
	// KubeadmLog is the end of kubeadm's output if it failed.
	KubeadmLog string
	// KubeletLog is what the guard found: see NodeUpgradeStatus.
	KubeletLog string
	// Method is how this attempt activates the image, once decided. MethodMessage says
	// why it differs from the requested method.
	Method        v1alpha1.Method
	MethodMessage string
	// Rehearsal compares the rehearsal of this attempt's boot with the boot: see NodeUpgradeStatus.
	Rehearsal *v1alpha1.RehearsalOutcome
	Steps     []StepTime
}

// StepTime is when a step began and ended. It ends when the next one begins; RolledBack when the node serves again.
type StepTime struct {
	Step                  v1alpha1.Step
	StartedAt, FinishedAt time.Time
}

// maxSteps is how many NodeUpgrade.status.steps may hold.
const maxSteps = 64

// enter begins another step, with no reason yet. It does nothing if s is in that step.
func (s State) enter(step v1alpha1.Step, o Observation) State {
	if s.Step == step {
		return s
	}
	s.Step, s.Since = step, o.Now
	s.Reason, s.Message, s.Until, s.AttachedVolumes = "", "", time.Time{}, nil
	s.Steps = slices.Clone(s.Steps)
	if last := len(s.Steps) - 1; last >= 0 && s.Steps[last].FinishedAt.IsZero() {
		s.Steps[last].FinishedAt = o.Now
	}
	if BetweenAttempts(step) {
		s.Parts = nil
	}
	if step == v1alpha1.StepIdle || step == v1alpha1.StepUnsupported {
		return s
	}
	s.Steps = append(s.Steps, StepTime{Step: step, StartedAt: o.Now})
	if spare := len(s.Steps) - maxSteps; spare > 0 {
		s.Steps = s.Steps[spare:]
	}
	return s
}

// withReason returns s with the reason why the node is still in its step.
func (s State) withReason(reason v1alpha1.Reason, message string) State {
	s.Reason, s.Message, s.Until = reason, message, time.Time{}
	return s
}

func (s State) withUntil(t time.Time) State {
	s.Until = t
	return s
}

// newState returns the State at the beginning of an upgrade.
func newState(upgrade v1alpha1.UpgradeReference, from string) State {
	return State{Upgrade: upgrade, From: from}
}

// withoutUpgrade returns s without all that belongs to its upgrade.
func (s State) withoutUpgrade() State {
	return State{Step: s.Step, Since: s.Since, Reason: s.Reason, Message: s.Message, Until: s.Until}
}

// Follows reports whether the order belongs to the upgrade of s. An upgrade that was
// deleted and created again under the same name is another one.
func (s State) Follows(order v1alpha1.NodeUpgradeSpec) bool {
	return order.Upgrade != nil && order.Upgrade.UID == s.Upgrade.UID
}

// BetweenAttempts reports whether the node is in service in that step, and holds no slot that it does not
// free at once.
func BetweenAttempts(step v1alpha1.Step) bool {
	phase := step.Info().Phase
	return phase == v1alpha1.PhaseInService || phase == v1alpha1.PhaseUnsupported
}

// WorksInService reports whether a verb runs in that step while the node serves. It is harmless to start it
// again.
func WorksInService(step v1alpha1.Step) bool {
	return step == v1alpha1.StepStaging || step == v1alpha1.StepKubeadmAhead
}

// Do is a kind of action.
type Do string

// The actions. Each may be done twice in a row without harm.
const (
	DoNothing    Do = ""
	DoWork       Do = "Work"       // run Verb on the host
	DoTake       Do = "Take"       // take the reserved slot
	DoCordon     Do = "Cordon"     // cordon the Node and annotate it with the slot, in one update
	DoDrain      Do = "Drain"      // one round of evictions
	DoLook       Do = "Look"       // look which volumes are still attached
	DoReboot     Do = "Reboot"     // reboot the node
	DoSoftReboot Do = "SoftReboot" // reboot all of the node but its kernel
	DoUncordon   Do = "Uncordon"   // remove our cordon and annotations
	DoHold       Do = "Hold"       // give the Node the hold label
	DoDisown     Do = "Disown"     // remove the annotation that says the cordon is ours
	DoFree       Do = "Free"       // free the slot
)

// Action is what the agent does next, and when it calls Next again at the latest.
type Action struct {
	Do Do
	// Verb is the host verb that DoWork runs. Key identifies this run: a result with
	// another key belongs to another run.
	Verb verb.Verb
	Key  string
	// Disrupt makes DoDrain evict pods that must not be disrupted, too, and Delete makes it
	// delete the remaining pods instead of evicting them.
	Disrupt, Delete bool
	// Wake is when to call Next again at the latest. Zero means when something changes.
	Wake time.Time
}

func actionOf(do Do) Action {
	return Action{Do: do}
}

func workOf(v verb.Verb, key string) Action {
	return Action{Do: DoWork, Verb: v, Key: key}
}

func wakeAt(until time.Time) Action {
	return Action{Wake: until}
}

// String returns the verb of DoWork, or the name of the action.
func (a Action) String() string {
	if a.Do == DoWork {
		return string(a.Verb)
	}
	return string(a.Do)
}

// Writes reports whether the action writes to the API server.
func (d Do) Writes() bool {
	return d == DoTake || d == DoCordon || d == DoDrain || d == DoUncordon || d == DoHold || d == DoDisown || d == DoFree
}

// BringsBack reports whether the action brings a node back into service. Such an action
// is done even if there is no NodeUpgrade to write the State to: the Node's annotations
// and the slot's Lease hold all that is needed to undo the rest.
func (d Do) BringsBack() bool { return d == DoReboot || d == DoUncordon || d == DoFree }

// longestLoop is how many steps a loop of a node can have.
const longestLoop = 4

// reenter goes back to an earlier step of the attempt. It removes a repeated loop from the
// timeline, so that repetitions do not push out its beginning.
func (s State) reenter(step v1alpha1.Step, o Observation) State {
	s = s.enter(step, o)
	last := len(s.Steps) - 1
	for n := 2; n <= longestLoop && 2*n <= last; n++ {
		if slices.EqualFunc(s.Steps[last-n:last], s.Steps[last-2*n:last-n], sameStep) {
			s.Steps = slices.Delete(s.Steps, last-n, last)
			break
		}
	}
	return s
}

func sameStep(a, b StepTime) bool { return a.Step == b.Step }

// firstEntered returns when the node first entered step while it alternated between it and
// the others: the limit of a step does not restart when the node comes back to it.
func (s State) firstEntered(step v1alpha1.Step, others ...v1alpha1.Step) time.Time {
	first := s.Since
	for _, one := range slices.Backward(s.Steps) {
		switch {
		case one.Step != step && !slices.Contains(others, one.Step):
			return first
		case one.Step == step && one.StartedAt.Before(first):
			first = one.StartedAt
		}
	}
	return first
}

// withWork returns the action that runs a verb on the host. A verb that cannot be started has not
// failed: it counts as no attempt, is started again after a pause, and the State keeps the reason.
func withWork(s State, o Observation, v verb.Verb, key string) (State, Action) {
	u := o.Work[v].StartFailure
	if u.Key != key || u.Reason == "" {
		return s, workOf(v, key)
	}
	s = s.withReason(u.Reason, u.Message)
	if o.Now.Before(u.RetryAt) {
		return s, wakeAt(u.RetryAt)
	}
	return s, workOf(v, key)
}
