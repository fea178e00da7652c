package view

import (
	"fmt"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Failure returns what became of a node that failed, such as "was rolled back to v1.34.4", and the cause.
func (n Node) Failure() (became, cause string) {
	if n.Step == v1alpha1.StepRolledBack {
		if _, rest, is := strings.Cut(n.Message, "the guard returned the node to "); is {
			version, cause, _ := strings.Cut(rest, ": ")
			return "was rolled back to " + version, cause
		}
		return "was rolled back", n.Message
	}
	if n.Reason == v1alpha1.ReasonAbandoned {
		return "was abandoned", n.Message
	}
	return "failed", n.Message
}

// FailureWords returns both in a sentence, such as "cp1 was rolled back to v1.34.4: the kubelet is not healthy".
func (n Node) FailureWords() string {
	became, cause := n.Failure()
	return strings.TrimSuffix(fmt.Sprintf("%s %s: %s", n.Name, became, cause), ": ")
}
