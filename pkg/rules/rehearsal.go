package rules

import (
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// Rehearsal holds a node that would not come back as it should from the boot that the upgrade brings, as its agent has
// tried. facts may be nil, and version is the one that the boot merges. What has not been tried, or could not be, holds
// nothing. The agent calls it again with what it knows itself.
func Rehearsal(spec v1alpha1.ClusterUpgradeSpec, facts *v1alpha1.NodeFacts, version string) clusterstate.Hold {
	rehearsal := facts.Rehearsed(version)
	if rehearsal == nil || len(rehearsal.Problems) == 0 || spec.Ignores(v1alpha1.CheckRehearsal) {
		return clusterstate.Hold{}
	}
	message := RehearsalProblem(*rehearsal, 0) + "; once that is mended, the agent tries again within a minute"
	return clusterstate.Hold{Reason: v1alpha1.ReasonRehearsalFailed, Message: message, Stays: true}
}

// RehearsalProblem returns what people are told of a problem that a rehearsal found.
func RehearsalProblem(r v1alpha1.Rehearsal, i int) string {
	problem := r.Problems[i]
	switch problem.Reason {
	case v1alpha1.KubeadmRefuses, v1alpha1.ProgramRefuses, v1alpha1.FileMissing:
		what := fmt.Sprintf("the start of the control plane of %s was tried on the node, and fails", r.Version)
		if problem.Cause == v1alpha1.CauseNode {
			what += ", as that of what runs would"
		}
		return what + ": " + problem.Message
	}
	if problem.Cause == v1alpha1.CauseNode {
		return fmt.Sprintf("the next boot was tried on the node, and fails with any version: %s", problem.Message)
	}
	return fmt.Sprintf("the boot with %s was tried on the node, and fails: %s", r.Version, problem.Message)
}
