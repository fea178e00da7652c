package view

import (
	"strings"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestWithoutParts checks which parts the command leaves out, with and without what the agent says before them.
func TestWithoutParts(t *testing.T) {
	for message, want := range map[string]string{
		"not back 5m0s after the settle time: nvidia.com/gpu 0 of 8; nvidia.com/mig 0 of 1; DaemonSet kube-system/gpu": `{"resources":"Ignore","daemonSets":"Ignore"}`,
		"driver csi.example.com; extension docker": `{"drivers":"Ignore","extensions":"Ignore"}`,
		"pods are kept away 5m0s after the node went back into service: taint late:NoSchedule; condition NetworkUnavailable": `{"taints":"Ignore","network":"Ignore"}`,
	} {
		n := Node{Name: "w1", State: StateFailed, Reason: v1alpha1.ReasonNotWhole, Message: message}
		command := "kubectl patch clusterupgrade u --type merge -p '{\"spec\":{\"strategy\":{\"whole\":" + want + "}}}'"
		if got := n.WithoutParts("u"); got != command {
			t.Errorf("%s:\ngot  %s\nwant %s", message, got, command)
		}
		s := Status{Upgrade: &Upgrade{Name: "u", Stalled: true, Reason: v1alpha1.ReasonNodeFailed}, Nodes: []Node{n}}
		if next := s.AfterFailure(); !strings.Contains(next, "`"+command+"`") || strings.Contains(next, "--retry") {
			t.Errorf("next: %s", next)
		}
	}
	if got := (Node{Reason: v1alpha1.ReasonUnhealthy}).WithoutParts("u"); got != "" {
		t.Errorf("another reason: %s", got)
	}
}
