package guard

import (
	"cmp"
	"fmt"
	"time"
)

const (
	// Steady is how long the same finding, healthy or not, must last before it counts at
	// the limit. A kubelet that crashes again and again is healthy for moments, and a
	// healthy node may be NotReady for one.
	Steady = 20 * time.Second
	// Grace is how long after the limit the guard waits for a steady finding. A node
	// that alternates until then is rolled back.
	Grace = time.Minute
	// MaxReboots is how often a rollback may reboot the node. One is enough unless the
	// power is cut, or another program changes the symlink.
	MaxReboots = 3
	// MaxBoots is how many boots may merge the version before the limit: one that resets
	// the node never reaches it.
	MaxBoots = 3
)

// Activation is what the guard watches.
type Activation struct {
	// From is the former version, To the activated one.
	From, To string
	// Limit is how long To may take to become healthy.
	Limit time.Duration
	// ByReboot reports whether a reboot merges To.
	ByReboot bool
}

// Observation is what the guard observes at one moment.
type Observation struct {
	// Elapsed is the time since the guard first started in this boot. It does not depend
	// on the wall clock.
	Elapsed time.Duration
	// Watched is the time since this process of the guard began to observe. It is less
	// than Elapsed if the guard was killed.
	Watched time.Duration
	// Steady is for how long the node has been healthy, or not, without interruption.
	Steady time.Duration
	// Boots counts the boots since the activation.
	Boots int
	// Rebooted reports whether the node has rebooted since the activation.
	Rebooted bool
	// Returning reports whether a rollback has begun and is not finished, and
	// RebootedSince whether the node has rebooted since it last wrote its record.
	Returning, RebootedSince bool
	// Reboots counts the reboots of this rollback.
	Reboots int
	// FormerGone reports whether the image of the former version is not on the disk.
	FormerGone bool
	// Active is the version that the symlink points to, Merged the one that is merged.
	// Empty means none, or that it cannot be read.
	Active, Merged string
	// Elsewhere reports whether the symlink points to something else than an image, or is
	// gone.
	Elsewhere bool
	Health    Health
}

// Health is what the guard finds wrong with a node. Each field is a sentence; empty
// means that nothing is wrong.
type Health struct {
	Kubelet    string
	StaticPods string
	Network    string
	// API is what the API server answers of the node. It is empty if the API server
	// does not answer.
	API string
}

// Verdict is what the guard does next.
type Verdict string

// The verdicts.
const (
	Watch   Verdict = "Watch"   // observe again
	Disarm  Verdict = "Disarm"  // nothing is left to guard
	Leave   Verdict = "Leave"   // end, and start again at the next boot
	Return  Verdict = "Return"  // begin the rollback, or continue it
	Restore Verdict = "Restore" // the former version is merged: restore what is left, and finish
)

// Decide returns the verdict and the sentence that explains it.
func Decide(a Activation, o Observation) (Verdict, string) {
	problem := Problem(a, o)
	switch {
	case o.Returning && o.Active == a.From && returned(a, o):
		return Restore, "the symlink points to " + a.From + " again"
	case o.Returning && o.Reboots >= MaxReboots:
		return Restore, fmt.Sprintf("%d reboots have not merged %s", o.Reboots, a.From)
	case o.Returning:
		return Return, "the rollback that began is continued"
	case o.Elsewhere, o.Active != "" && o.Active != a.To:
		return Disarm, fmt.Sprintf("the symlink does not point to %s any more", a.To)
	case a.ByReboot && !o.Rebooted && o.Merged != a.To:
		return Leave, "the node has not rebooted since the activation"
	case o.Boots > MaxBoots && problem != "":
		problem = fmt.Sprintf("the node has booted %d times: %s", o.Boots, problem)
	case o.Elapsed < a.Limit:
		return Watch, problem
	case problem == "" && o.Steady >= Steady:
		return Disarm, a.To + " is healthy"
	case o.Steady < Steady && (o.Elapsed < a.Limit+Grace || o.Watched < Grace):
		return Watch, cmp.Or(problem, "healthy, but not for long enough yet")
	case problem == "":
		problem = fmt.Sprintf("the node was not healthy for %s without interruption", Steady)
	}
	if o.FormerGone {
		return Disarm, problem + "; the image of " + a.From + " is gone, so the node cannot return to it"
	}
	return Return, problem
}

// returned reports whether a node whose symlink was restored needs no reboot any more.
func returned(a Activation, o Observation) bool {
	if o.RebootedSince {
		return o.Merged != a.To
	}
	return o.Merged == a.From && o.Health.Network == ""
}

// Problem returns what is wrong with the node, or "". What the other problems follow
// from comes first.
func Problem(a Activation, o Observation) string {
	switch h := o.Health; {
	case o.Merged == "":
		return "the image of " + a.To + " was not merged"
	case o.Merged != a.To:
		return fmt.Sprintf("%s is merged, and not %s", o.Merged, a.To)
	case h.Network != "":
		return h.Network
	case h.Kubelet != "":
		return h.Kubelet
	case h.StaticPods != "":
		return h.StaticPods
	default:
		return h.API
	}
}
