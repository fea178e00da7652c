package rehearsal

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// Boots is what two trials of the merge saw, and what else is known to judge them.
type Boots struct {
	// Version is the one that the next boot merges, and Running the one that is merged now.
	Version, Running string
	// Today is the trial with the image that runs, Next with the one of Version.
	Today, Next Seen
	// Extensions are the names of those that are merged on the node now, without those that were removed since.
	Extensions []string
	// KubeletProgram is the file that the running kubelet was started from; empty: it does not run.
	KubeletProgram string
}

// Judge returns what would go wrong at the next boot.
func Judge(b Boots) v1alpha1.Rehearsal {
	j := &judge{Boots: b, out: v1alpha1.Rehearsal{Version: b.Version}}
	if left := b.Next.Mutable; len(left) > 0 {
		j.out.LeftOut = append(j.out.LeftOut, "the merge of "+strings.Join(left, " and ")+", which is in a mutable mode")
		return j.out
	}
	if j.merged() {
		j.extensions()
		j.folder()
		j.kubelet()
		j.runtime()
	}
	return j.out
}

type judge struct {
	Boots
	out v1alpha1.Rehearsal
}

// add adds a problem. today reports whether the trial with what runs now had it, too.
func (j *judge) add(reason v1alpha1.ProblemReason, today bool, format string, args ...any) {
	cause := v1alpha1.CauseVersion
	if today {
		cause = v1alpha1.CauseNode
	}
	problem := v1alpha1.Problem{Reason: reason, Message: fmt.Sprintf(format, args...)}
	j.out.Problems = append(j.out.Problems, v1alpha1.RehearsalProblem{Problem: problem, Cause: cause})
}

// refusals are what systemd-sysext says when it merges nothing for a reason that a boot would have as well: an image that
// cannot be mounted or names another extension, or a crash. It may refuse for other reasons in the trial alone.
var refusals = regexp.MustCompile(`^Failed to read metadata for image .*: ` +
	`(Package not installed|No medium found|Structure needs cleaning|Bad message|Invalid argument|Wrong medium type|Exec format error|Input/output error)$` +
	`|^Assertion '.*' failed at |terminated by signal (ABRT|SEGV|BUS|FPE|ILL)`)

// refusal returns what systemd-sysext said as it merged nothing, and what it is about; empty: it is none of the refusals.
func (s Seen) refusal() string {
	for _, line := range s.Said {
		switch {
		case !refusals.MatchString(line):
		case s.Refused != "":
			return fmt.Sprintf("%s: %s", s.Refused, line)
		case len(s.Mounts) > 0:
			return fmt.Sprintf("%s (with what is mounted at %s)", line, strings.Join(s.Mounts, " and "))
		default:
			return line
		}
	}
	return ""
}

// merged reports whether the image of Kubernetes was merged. Nothing else can be judged otherwise.
func (j *judge) merged() bool {
	next, today := j.Next, j.Today.Merged != j.Running
	switch refusal := next.refusal(); {
	case next.Merged == j.Version:
		return true
	case refusal != "":
		j.add(v1alpha1.NothingMerges, today, "systemd-sysext would merge nothing: %s", refusal)
	case next.Ended == "" && !today:
		j.add(v1alpha1.ImageNotMerged, false, "systemd-sysext would not merge the image of %s: %s", j.Version, lastOf(next.Said))
	default:
		j.out.Untried = append(j.out.Untried, fmt.Sprintf("the merge: systemd-sysext %s: %s", next.Ended, lastOf(next.Said)))
	}
	return false
}

func lastOf(said []string) string {
	if len(said) == 0 {
		return "it says nothing"
	}
	return said[len(said)-1]
}

// extensions looks for those that are merged on the node now.
func (j *judge) extensions() {
	for _, name := range j.Extensions {
		if slices.Contains(j.Next.Extensions, name) {
			continue
		}
		j.add(v1alpha1.ExtensionNotMerged, !slices.Contains(j.Today.Extensions, name),
			"the extension %s is merged now, and would not be after the boot", name)
	}
}

// folder looks whether the agent and the guard could still write their files.
func (j *judge) folder() {
	if len(j.Next.ReadOnly) > 0 {
		j.add(v1alpha1.FolderReadOnly, len(j.Today.ReadOnly) > 0, "%s would be read-only, as systemd-sysext makes all of /opt for an extension with files there (%s)",
			host.Root, strings.Join(j.Next.ReadOnly, ", "))
	}
}

func (j *judge) kubelet() {
	next, today := j.Next.Kubelet, j.Today.Kubelet
	switch {
	case next.Path == "" || next.Masked || len(next.Command) == 0:
		j.add(v1alpha1.KubeletNotStarted, today.Path == "" || today.Masked || len(today.Command) == 0, "there is no kubelet.service, or it is masked")
		return
	case !next.Started && today.Started:
		j.add(v1alpha1.KubeletNotStarted, false, "no unit starts kubelet.service")
	case len(next.Missing) > 0:
		j.add(v1alpha1.KubeletNotStarted, len(today.Missing) > 0, "%s needs %s, which is not there", next.Path, strings.Join(next.Missing, " and "))
		return
	}
	program := next.Command[0]
	if next.Script { // what it starts shows only in the kubelet that runs
		program = j.KubeletProgram
	}
	if j.Version != j.Running && program != "" && !strings.HasPrefix(program, "/usr/") {
		j.add(v1alpha1.KubeletElsewhere, true, "%s starts %s, which no image of Kubernetes brings: the node would not run %s", next.Path, program, j.Version)
	}
}

func (j *judge) runtime() {
	next, today := j.Next.Runtime, j.Today.Runtime
	if len(next.Missing) > 0 {
		j.add(v1alpha1.RuntimeMissing, len(today.Missing) > 0, "%s needs %s, which is not there", next.Path, strings.Join(next.Missing, " and "))
	}
}
