package guard

import (
	"cmp"
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

const (
	// Steady is how long the same finding, healthy or not, must last before it counts at
	// the limit. A kubelet that crashes again and again is healthy for moments, and a
	// healthy node may be NotReady for one.
	Steady = 20 * time.Second
	// Grace is how long after the limit the guard waits for a steady finding. A node
	// that alternates until then is rolled back.
	Grace = time.Minute
	// AnswersFor is how long the API server must have answered without interruption before it
	// counts that it does not show the node as Ready, or the limit if that is less: a kubelet
	// needs time to register and report once it reaches the API server again.
	AnswersFor = 2 * time.Minute
	// KubeletWithin is how long after the guard's start the kubelet's may be for which the limit
	// waits: units that wait for the network do so for two minutes.
	KubeletWithin = 3 * time.Minute
	// MaxReboots is how often a rollback may reboot the node. One is enough unless the
	// power is cut, or another program changes the symlink.
	MaxReboots = 3
	// MaxBoots is how many boots in a row may end before the limit: a version that resets the
	// node never reaches it.
	MaxBoots = 3
)

// Activation is what the guard watches.
type Activation struct {
	// From is the former version, To the activated one.
	From, To string
	// Limit is how long To may take to become healthy, from the kubelet's first start on.
	Limit time.Duration
	// ByReboot reports whether a reboot merges To.
	ByReboot bool
}

// Observation is what the guard observes at one moment.
type Observation struct {
	// Elapsed is the time since the guard first started in this boot. It does not depend
	// on the wall clock.
	Elapsed time.Duration
	// KubeletStarted is when the kubelet first started in this boot, in terms of Elapsed. Zero
	// means that it has not.
	KubeletStarted time.Duration
	// Answers is for how long the API server has answered without interruption. Zero means
	// that it does not, refuses to, has begun to this moment, or was not asked.
	Answers time.Duration
	// Watched is the time since this process of the guard began to observe. It is less
	// than Elapsed if the guard was killed.
	Watched time.Duration
	// Steady is for how long the node has been healthy, or not, without interruption.
	Steady time.Duration
	// Boots counts the boots since the activation, or since the last one that Survived.
	Boots int
	// Rebooted reports whether the node has rebooted since the activation.
	Rebooted bool
	// Returning reports whether a rollback has begun and is not finished, Returned whether it is
	// finished, and RebootedSince whether the node has rebooted since it last wrote its record.
	Returning, Returned, RebootedSince bool
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
	// Merging reports whether systemd still merges images for this boot, or that is not known.
	Merging bool
	// GaveUp is how the kubelet ended before systemd ceased to start it. Empty: it has not ceased.
	GaveUp string
	// Runtime is what is wrong with containerd, which no Kubernetes image brings. Empty: nothing.
	Runtime string
	Tried   Tried
	Health  Health
}

// Tried is what the guard has tried in this activation.
type Tried struct {
	// Merge reports whether it merged the activated image once more, and MergeFailure is what
	// systemd-sysext said if that failed.
	Merge        bool
	MergeFailure string
	// Kubelet is how the kubelet had ended when the guard started it once more. Empty: it has not.
	Kubelet string
	// FormerFailure is why the former image was not merged without a reboot, where the boot had
	// merged none. Empty: that was not tried, or it was merged.
	FormerFailure string
	// At is when it last tried something in this boot, in terms of Elapsed. Zero: it has not.
	At time.Duration
}

// String returns the end of a sentence about the node.
func (t Tried) String() string {
	tried := verb.GuardTried{Merge: t.Merge, Kubelet: t.Kubelet}.String()
	if tried == "" {
		return ""
	}
	return ", after " + tried
}

// Health is what the guard finds wrong with a node. Each field is a sentence; empty
// means that nothing is wrong.
type Health struct {
	Kubelet    string
	StaticPods string
	Network    string
	// API is what the API server answers of a node that it does not show as Ready. It is
	// empty if the API server does not answer, or was not asked.
	API string
}

// Verdict is what the guard does next.
type Verdict string

// The verdicts.
const (
	Watch   Verdict = "Watch"   // observe again
	Merge   Verdict = "Merge"   // merge the activated image once more
	Start   Verdict = "Start"   // start the kubelet once more
	Disarm  Verdict = "Disarm"  // nothing is left to guard
	Leave   Verdict = "Leave"   // end, and start again at the next boot
	Return  Verdict = "Return"  // begin the rollback, or continue it
	Restore Verdict = "Restore" // the former version is merged: restore what is left, and finish
	Stay    Verdict = "Stay"    // the node cannot return: record that, and end
)

// Decide returns the verdict and the sentence that explains it.
func Decide(a Activation, o Observation) (Verdict, string) {
	switch {
	case o.Returned:
		return Disarm, "the node was returned to " + a.From + " already"
	case o.Returning:
		return decideReturn(a, o)
	case o.Elsewhere, o.Active != "" && o.Active != a.To:
		return Disarm, fmt.Sprintf("the symlink does not point to %s any more", a.To)
	case a.ByReboot && !o.Rebooted && o.Merged != a.To:
		return Leave, "the node has not rebooted since the activation"
	}
	problem, limit := Problem(a, o), limit(a, o)
	switch {
	case mergesOnceMore(a, o):
		return Merge, problem
	case o.Merged == a.To && o.Health.Kubelet != "" && o.GaveUp != "" && o.Tried.Kubelet == "":
		return Start, fmt.Sprintf("%s, and systemd does not start it any more (%s)", problem, o.GaveUp)
	case o.Boots > MaxBoots && problem != "" && o.Tried.At == 0:
		problem = fmt.Sprintf("the node has booted %d times: %s", o.Boots, problem)
	case o.Elapsed < limit:
		return Watch, problem
	case problem == "" && o.Answers < Steady:
		return Watch, "the node itself is healthy, and the API server has not said that it is Ready"
	case problem == "" && o.Steady >= Steady:
		return Disarm, a.To + " is healthy" + o.Tried.String()
	case apiAlone(a, o) && o.Answers < answersFor(a):
		return Watch, problem + ", and has not answered for long"
	case o.Steady < Steady && (o.Elapsed < limit+Grace || o.Watched < Grace || o.Answers > 0 && o.Answers < answersFor(a)+Grace):
		return Watch, cmp.Or(problem, "healthy, but not for long enough yet")
	case problem == "":
		problem = fmt.Sprintf("the node was not healthy for %s without interruption%s", Steady, o.Tried)
	}
	if o.FormerGone {
		return Stay, formerGone(a, problem)
	}
	return Return, problem
}

// decideReturn decides in a rollback that has begun.
func decideReturn(a Activation, o Observation) (Verdict, string) {
	switch {
	case o.Merged == "" && o.Tried.FormerFailure != "":
		return Stay, fmt.Sprintf("the image of %s cannot be merged either (%s), so a reboot would not help", a.From, o.Tried.FormerFailure)
	case o.Active == a.From && returned(a, o):
		return Restore, "the symlink points to " + a.From + " again"
	case o.Reboots >= MaxReboots:
		return Restore, fmt.Sprintf("%d reboots have not merged %s", o.Reboots, a.From)
	case o.FormerGone:
		return Stay, formerGone(a, "the rollback began")
	}
	return Return, "the rollback that began is continued"
}

// mergesOnceMore reports whether the boot has not merged the activated image, and the guard has not
// tried to. Without a reboot the verb "restart" merges, which tries twice.
func mergesOnceMore(a Activation, o Observation) bool {
	return o.Rebooted && o.Merged != a.To && !o.Merging && !o.Tried.Merge
}

// Survived reports whether this boot has reached its limit healthy: it is none of those that
// MaxBoots limits, and neither were the former ones.
func Survived(a Activation, o Observation) bool {
	return o.Elapsed >= limit(a, o) && Problem(a, o) == ""
}

// limit returns when the node is judged, in terms of Observation.Elapsed. An image that is not
// merged has no kubelet to wait for. What the guard tried has as long as a boot to take effect.
func limit(a Activation, o Observation) time.Duration {
	late := o.KubeletStarted
	if late == 0 && o.Merged == a.To {
		late = o.Elapsed
	}
	late = min(late, KubeletWithin)
	if o.Merged == a.To {
		late = max(late, o.Tried.At)
	}
	return a.Limit + late
}

// answersFor returns for how long the API server must have answered.
func answersFor(a Activation) time.Duration { return min(AnswersFor, a.Limit) }

func formerGone(a Activation, problem string) string {
	return problem + "; the image of " + a.From + " is gone, so the node cannot return to it"
}

// returned reports whether a node whose symlink was restored needs nothing more. Where a boot has
// merged nothing, one more merge is tried.
func returned(a Activation, o Observation) bool {
	if o.RebootedSince {
		return o.Merged != a.To && (o.Merged != "" || o.Merging)
	}
	return o.Merged == a.From && o.Health.Network == ""
}
