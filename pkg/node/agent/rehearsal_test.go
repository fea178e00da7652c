package agent

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// TestRehearsalIsAskedFirst checks that a node which knows that its next boot would not bring it back takes no slot,
// although the coordinator has released it, and begins once the cause is gone.
func TestRehearsalIsAskedFirst(t *testing.T) {
	c := newCluster(t, "agent-rehearsal")
	rehearse := func(problems ...v1alpha1.RehearsalProblem) {
		c.host.Lock()
		defer c.host.Unlock()
		c.host.Facts.Node.Rehearsals = []v1alpha1.Rehearsal{{Version: "v1.34.4", Problems: problems}}
	}
	problem := v1alpha1.Problem{Reason: v1alpha1.NothingMerges, Message: "/etc/extensions/other.raw is no image"}
	rehearse(v1alpha1.RehearsalProblem{Problem: problem, Cause: v1alpha1.CauseNode})
	c.order(v1alpha1.ReleaseNode)
	c.run()
	status := c.await("the rehearsal holds it", func(s agentStatus) bool { return s.Reason == v1alpha1.ReasonRehearsalFailed })
	if status.Slot != "" || !strings.Contains(status.Message, problem.Message) {
		t.Errorf("status %+v", status)
	}
	if slices.Contains(c.host.Verbs(), "kubeadm") {
		t.Error("kubeadm ran")
	}
	c.awaitInventory("it is reported", func(i v1alpha1.NodeInventory) bool { return len(i.Rehearsals) == 1 })

	setUpdateEngine(c.host, host.UpdateEngineNeedReboot, nil)
	c.awaitInventory("the other operating system is named", func(i v1alpha1.NodeInventory) bool {
		return len(i.Rehearsals) == 1 && strings.Contains(strings.Join(i.Rehearsals[0].LeftOut, " "), "update_engine")
	})
	setUpdateEngine(c.host, "", nil)
	rehearse()
	c.await("it begins", func(s agentStatus) bool { return s.Slot != "" })
}
