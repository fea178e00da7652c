package machine

import (
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/verb"
)

func cordoning(s State, o Observation) (State, Action) {
	if arrived(o) {
		return s.enter(v1alpha1.StepVerifying, o), Action{}
	}
	if s, stop, halted := mayNotBegin(s, o); halted {
		return s, stop
	}
	switch {
	case o.Gate == nil:
		return s, Action{}
	case cordoned(o):
		return s.enter(v1alpha1.StepDraining, o), Action{}
	}
	return s, act(DoCordon)
}

// draining lasts until no pod is left, or its time is up. The gate is asked before each
// round: one that closes ends the attempt, and while it cannot be asked no pod is asked
// to leave.
func draining(s State, o Observation) (State, Action) {
	limit := s.began(v1alpha1.StepDraining, v1alpha1.StepCordoning, v1alpha1.StepLastCheck).Add(drainTimeout(o))
	late := !o.Now.Before(limit)
	if o.Drain != nil && o.Drain.At.Before(s.Since) {
		o.Drain = nil
	}
	deletes := o.Spec.Drain.OnTimeout == v1alpha1.OnTimeoutDelete
	switch {
	case withdrawn(s, o):
		return callBack(s.uncounted(), o)
	case o.Slot.Held != "" && !cordoned(o):
		return s.again(v1alpha1.StepCordoning, o), Action{}
	case o.Slot.Held != "" && o.Drain != nil && o.Drain.Left == 0:
		return s.enter(v1alpha1.StepLastCheck, o), Action{}
	case o.Gate != nil && !o.Gate.Open && o.Gate.Reason != v1alpha1.ReasonGateUnknown:
		return closed(s.uncounted(), o)
	case late && (!deletes || o.Slot.Held == "" || !o.Now.Before(limit.Add(drainTimeout(o)))):
		return abortAndRetry(s, o, v1alpha1.ReasonDrainTimeout, fmt.Sprintf("not drained within %s: %s", drainTimeout(o), drainMessage(o)))
	case o.Slot.Held == "":
		return s.say(v1alpha1.ReasonNoSlot, "the Lease of this node's slot is gone; waits until it is rebuilt from the mark"), wait(limit)
	case o.Gate != nil && !o.Gate.Open:
		return s.say(o.Gate.Reason, "no pod is asked to leave: "+o.Gate.Message).until(limit), wait(o.Now.Add(drainRound))
	}
	// Deleted pods that hang get as long again as they had to leave.
	round := Action{Do: DoDrain, Delete: late, Wake: o.Now.Add(drainRound)}
	if !late && limit.Before(round.Wake) {
		round.Wake = limit
	}
	if o.Gate == nil {
		round.Do, round.Delete = DoNothing, false
	}
	if o.Gate == nil && o.HostProblem != "" {
		return s.say(v1alpha1.ReasonHostUnreachable, "no pod is asked to leave: "+o.HostProblem).until(limit), round
	}
	reason := v1alpha1.ReasonDraining
	if o.Drain != nil && o.Drain.Blocked {
		reason = v1alpha1.ReasonDrainBlocked
	}
	return s.say(reason, drainMessage(o)).until(limit), round
}

func drainMessage(o Observation) string {
	if o.Drain == nil {
		return "pods are asked to leave"
	}
	return o.Drain.Message
}

// lastCheck is the last step in which a node can still give up. The gate looks at
// window, exclusion, release and slot, all live; and the host is looked at anew, as
// the symlink may have been moved while the node was drained.
func lastCheck(s State, o Observation) (State, Action) {
	if arrived(o) {
		return s.enter(v1alpha1.StepVerifying, o), Action{}
	}
	if s, stop, halted := mayNotBegin(s, o); halted {
		return s, stop
	}
	switch {
	case !s.restarts() && !cordoned(o):
		return s.again(v1alpha1.StepCordoning, o), Action{}
	case o.Gate == nil, o.Host.At.Before(s.Since):
		return s, Action{}
	case s.restarts():
		return lastCheckInService(s, o)
	}
	if o.Spec.Type == v1alpha1.TypeReboot {
		s.RebootedFrom = o.Host.BootID
		return s.enter(v1alpha1.StepRebooting, o), act(DoReboot)
	}
	return flip(s, o)
}

// flip begins what is finished whatever anyone asks for meanwhile, unless it could not
// be begun a moment ago.
func flip(s State, o Observation) (State, Action) {
	told, a := start(s, o, verb.Activate, attemptKey(s, o))
	if a.Do == DoNothing {
		return told, a
	}
	if !s.restarts() {
		s.RebootedFrom = o.Host.BootID
	}
	return s.enter(v1alpha1.StepActivating, o), a
}

// lost reports whether the node may not finish what it began: it was called back,
// and its slot was taken from it, as when a person gave the node up. Others may
// be out of service in its place, so it gives up too, though the symlink may be
// flipped already. A slot alone may come back, rebuilt from the mark.
func lost(s State, o Observation) bool {
	return withdrawn(s, o) && o.Slot.Held == ""
}

// activating finishes a flip that was begun. Where nothing was begun the last
// check is made again: the agent may have been away since.
func activating(s State, o Observation) (State, Action) {
	key, work := attemptKey(s, o), o.Work[verb.Activate]
	ended := work.endedIn(s, key)
	flipped := o.Host.Active == expected(s, o)
	booted := !s.restarts() && o.Host.BootID != s.RebootedFrom
	switch {
	case s.restarts() && flipped && o.Host.Merged == o.Host.Active:
		return s.enter(v1alpha1.StepRestarting, o), Action{}
	case booted && flipped:
		return s.enter(v1alpha1.StepVerifying, o), Action{}
	case booted:
		s.RebootedFrom = ""
		return s.enter(v1alpha1.StepLastCheck, o), Action{}
	case work.Running:
		return s, Action{}
	case lost(s, o):
		return callBack(s, o)
	case ended && work.OK:
		return activated(s, o)
	case ended && flipped:
		return fail(s, o, work.Reason, work.Message)
	case ended:
		return abortAndRetry(s, o, work.Reason, work.Message)
	case s.Follows(o.Spec) && flipped:
		return start(s, o, verb.Activate, key)
	case flipped:
		// Another upgrade is asked for by now; the symlink is what this one left.
		return activated(s, o)
	}
	return s.enter(v1alpha1.StepLastCheck, o), Action{}
}

// activated has the image that was flipped merged.
func activated(s State, o Observation) (State, Action) {
	if s.restarts() {
		return s.enter(v1alpha1.StepRestarting, o), run(verb.Restart, restartKey(s, o))
	}
	return s.enter(v1alpha1.StepRebooting, o), act(DoReboot)
}

// rebooting asks, and asks once more: the call may succeed and nothing happen.
func rebooting(s State, o Observation) (State, Action) {
	again, limit := deadline(s, o, RebootWithin), deadline(s, o, 2*RebootWithin)
	ask := o.RebootAskedAt.Before(s.Since) || !o.Now.Before(again) && o.RebootAskedAt.Before(again)
	refused := ""
	if o.RebootProblem != "" {
		s, refused = s.say(v1alpha1.ReasonRebootFailed, o.RebootProblem), ": "+o.RebootProblem
	}
	switch {
	case o.Host.BootID != s.RebootedFrom:
		return s.enter(v1alpha1.StepVerifying, o), Action{}
	case ask && lost(s, o):
		return callBack(s, o)
	case !o.Now.Before(limit):
		return fail(s, o, v1alpha1.ReasonRebootFailed, fmt.Sprintf("the node runs the same boot %s after its reboot was asked for%s", 2*RebootWithin, refused))
	case ask:
		return s, Action{Do: DoReboot, Wake: limit}
	case o.Now.Before(again):
		return s, wait(again)
	}
	return s, wait(limit)
}
