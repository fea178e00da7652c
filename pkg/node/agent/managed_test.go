package agent

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// managedReason returns the reason of the condition Managed.
func managedReason(s agentStatus) string {
	if c := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionManaged); c != nil {
		return string(c.Status) + " " + c.Reason
	}
	return ""
}

// notManaged makes the node's spec that of a node that is not managed.
func notManaged(spec *v1alpha1.NodeUpgradeSpec) { *spec = v1alpha1.NodeUpgradeSpec{} }

// TestNodeThatIsNotManaged checks that an agent reports and changes nothing on a node that is
// not managed, takes it over when it is, and gives it back when it no longer is.
func TestNodeThatIsNotManaged(t *testing.T) {
	c := newCluster(t, "agent-not-managed")
	c.host.Facts.Armed = true
	c.order(v1alpha1.ReleaseNone, notManaged)
	c.run()
	status := c.await("nothing is on the node", func(s agentStatus) bool { return managedReason(s) == "False NothingLeft" })
	if status.Step != v1alpha1.StepIdle || status.Versions.NextBoot != "v1.34.3" {
		t.Errorf("got step %s and next boot %q, want Idle and v1.34.3", status.Step, status.Versions.NextBoot)
	}
	time.Sleep(2 * time.Second)
	if began := c.host.Verbs(); len(began) > 0 || c.host.HasFiles() {
		t.Errorf("got work on the host %v and files %t, want none", began, c.host.HasFiles())
	}
	c.order(v1alpha1.ReleaseNone)
	c.await("the node is taken over", func(s agentStatus) bool {
		return managedReason(s) == "True TakenOver" && s.Step == v1alpha1.StepWaiting
	})
	c.host.Fail[verb.Uninstall] = &verb.Result{Reason: v1alpha1.ReasonHostUnreachable, Message: "the disk is read-only"}
	c.order(v1alpha1.ReleaseNone, notManaged)
	c.await("why it is not given back", func(s agentStatus) bool {
		managed := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionManaged)
		return managedReason(s) == "True GivingBack" && managed.Message == "the disk is read-only"
	})
	c.kill()
	c.run() // another agent tries again
	c.await("the node is given back", func(s agentStatus) bool { return managedReason(s) == "False NothingLeft" })
	want := []string{string(verb.Disarm), string(verb.Stage), string(verb.Uninstall), string(verb.Uninstall)}
	if diff := cmp.Diff(want, c.host.Verbs()); diff != "" || c.host.HasFiles() {
		t.Errorf("work on the host (-want +got), files %t:\n%s", c.host.HasFiles(), diff)
	}
}

// TestGiveBackWaitsForTheAttempt checks that a node which is being upgraded finishes, and is
// given back afterwards.
func TestGiveBackWaitsForTheAttempt(t *testing.T) {
	c := newCluster(t, "agent-give-back")
	down := make(chan string, 1)
	c.host.OnReboot = func(boot string) { down <- boot }
	c.order(v1alpha1.ReleaseNode)
	c.run()
	boot := <-down
	c.order(v1alpha1.ReleaseNode, func(spec *v1alpha1.NodeUpgradeSpec) { spec.Managed = false })
	c.await("it will be given back", func(s agentStatus) bool { return managedReason(s) == "True GivingBack" })
	if !c.host.HasFiles() {
		t.Fatal("the node was given back while it rebooted")
	}
	c.report(boot, "True")
	c.await("it is back in service and given back", func(s agentStatus) bool {
		return s.Step == v1alpha1.StepIdle && s.Slot == "" && managedReason(s) == "False NothingLeft"
	})
	if verbs := c.host.Verbs(); verbs[len(verbs)-1] != string(verb.Uninstall) || c.host.Facts.Merged != "v1.34.4" {
		t.Errorf("got %v and %s merged, want uninstall last and v1.34.4", verbs, c.host.Facts.Merged)
	}
}
