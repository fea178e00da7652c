package machine

import (
	"fmt"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// maxVolumes is how many volumes NodeUpgrade.status.attachedVolumes may hold.
const maxVolumes = 256

// detaching waits, for a limited time, until the volumes of the pods that have gone are detached.
// Until then nothing is changed on the node, and the attempt can abort.
func detaching(s State, o Observation) (State, Action) {
	within := clusterstate.Seconds(o.Spec.Drain.VolumesDetachedSeconds)
	limit := s.firstEntered(v1alpha1.StepDetaching, v1alpha1.StepCordoning, v1alpha1.StepDraining, v1alpha1.StepLastCheck).Add(within)
	if atTarget(o) {
		return s.enter(v1alpha1.StepVerifying, o), Action{}
	}
	if s, stop, aborted := abortIfBlocked(s, o); aborted {
		return s, stop
	}
	look := Action{Do: DoLook, Wake: o.Now.Add(drainRound)}
	seen := o.Volumes != nil && !o.Volumes.At.Before(s.Since)
	if seen && o.Now.Sub(o.Volumes.At) < drainRound {
		look.Do = DoNothing
	}
	if o.Now.Before(limit) && limit.Before(look.Wake) {
		look.Wake = limit
	}
	switch {
	case !cordoned(o):
		return s.reenter(v1alpha1.StepCordoning, o), Action{}
	case o.Rules == nil:
		return s, Action{}
	case seen && o.Volumes.Problem == "" && len(o.Volumes.Attached) == 0:
		return s.enter(v1alpha1.StepLastCheck, o), Action{}
	case seen && !o.Now.Before(limit) && o.Spec.Drain.OnTimeout == v1alpha1.OnTimeoutDelete:
		message := fmt.Sprintf("goes on, as drain.onTimeout is Delete, after %s: %s", within, attached(o.Volumes))
		return s.enter(v1alpha1.StepLastCheck, o).withReason(v1alpha1.ReasonVolumesAttached, message), Action{}
	case seen && !o.Now.Before(limit):
		return abortAndRetry(s, o, v1alpha1.ReasonVolumesAttached, fmt.Sprintf("not detached within %s: %s", within, attached(o.Volumes)))
	case !seen:
		return s.withReason(v1alpha1.ReasonDraining, "drained; looks at the volumes").withUntil(limit), look
	}
	if o.Volumes.Problem == "" {
		s.AttachedVolumes = o.Volumes.Attached[:min(len(o.Volumes.Attached), maxVolumes)]
	}
	return s.withReason(v1alpha1.ReasonVolumesAttached, "drained; "+attached(o.Volumes)).withUntil(limit), look
}

// attached names the volumes that are waited for.
func attached(v *Volumes) string {
	const shown = 3
	switch n := len(v.Attached); {
	case v.Problem != "":
		return "cannot see which volumes are attached: " + v.Problem
	case n == 1:
		return "1 volume is attached: " + v.Attached[0]
	case n <= shown:
		return fmt.Sprintf("%d volumes are attached: %s", n, strings.Join(v.Attached, ", "))
	default:
		return fmt.Sprintf("%d volumes are attached: %s and %d more", n, strings.Join(v.Attached[:shown], ", "), n-shown)
	}
}
