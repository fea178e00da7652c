package agent

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestOrderMustMatchUpgrade checks that the agent neither downloads nor runs what the
// upgrade did not fix at its trigger, and reports it: an order chooses what runs as root.
func TestOrderMustMatchUpgrade(t *testing.T) {
	const evil = "http://evil.example/kubernetes-v1.34.4-x86-64.raw"
	for name, row := range map[string]struct {
		change func(*v1alpha1.NodeUpgradeSpec)
		want   string
	}{
		"digest":       {func(s *v1alpha1.NodeUpgradeSpec) { s.Image.Digest = v1alpha1.DigestOf(strings.Repeat("b", 64)) }, `the NodeUpgrade has digest "sha256:bbbb`},
		"address":      {func(s *v1alpha1.NodeUpgradeSpec) { s.Image.URL = evil }, `the NodeUpgrade has address "` + evil + `", but ClusterUpgrade patch fixed "http://bakery/`},
		"version":      {func(s *v1alpha1.NodeUpgradeSpec) { s.Version = "v1.34.9" }, `the NodeUpgrade has version "v1.34.9", but ClusterUpgrade patch fixed "v1.34.4" at its trigger`},
		"architecture": {func(s *v1alpha1.NodeUpgradeSpec) { s.Image.Architecture = "arm64" }, `fixed "" at its trigger`},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, "agent-order-"+name)
			c.kubelet()
			c.order(v1alpha1.ReleaseNone, row.change)
			c.run()
			status := c.await("the reason is OrderMismatch", func(s agentStatus) bool { return s.Reason == v1alpha1.ReasonOrderMismatch })
			if status.Step != v1alpha1.StepStaging || !strings.Contains(status.Message, row.want) || len(c.host.Verbs()) > 0 {
				t.Errorf("got step %s (%s) and work on the host %v, want Staging and none", status.Step, status.Message, c.host.Verbs())
			}
			// The order is corrected, and changed again once the image is staged.
			c.order(v1alpha1.ReleaseNone)
			c.awaitStep(v1alpha1.StepWaiting)
			c.order(v1alpha1.ReleaseNode, row.change)
			c.await("the order is refused again", func(s agentStatus) bool { return s.Reason == v1alpha1.ReasonOrderMismatch })
			if began := c.host.Verbs(); !slices.Equal(began, []string{"stage"}) {
				t.Errorf("got work on the host %v, want stage only", began)
			}
			c.order(v1alpha1.ReleaseNode)
			c.awaitStep(v1alpha1.StepIdle)
			c.checkFree()
		})
	}
}

// TestOrderOfEndedUpgradeMustMatchPolicy checks that a node which joins late compares its
// order with the UpgradePolicy, which keeps the image of the upgrade that ended.
func TestOrderOfEndedUpgradeMustMatchPolicy(t *testing.T) {
	c := newCluster(t, "agent-order-late")
	gone := v1alpha1.UpgradeReference{Name: "gone", UID: "of-the-deleted-one"}
	c.setPolicyUpgrade(gone)
	c.order(v1alpha1.ReleaseNone, ofUpgrade(gone), func(s *v1alpha1.NodeUpgradeSpec) { s.Image.Digest = v1alpha1.DigestOf(strings.Repeat("b", 64)) })
	c.run()
	status := c.await("the reason is OrderMismatch", func(s agentStatus) bool { return s.Reason == v1alpha1.ReasonOrderMismatch })
	if len(c.host.Verbs()) > 0 {
		t.Errorf("got message %s and work on the host %v, want none", status.Message, c.host.Verbs())
	}
	c.order(v1alpha1.ReleaseNone, ofUpgrade(gone))
	c.await("it is staged", func(s agentStatus) bool { return s.Versions.Staged == "v1.34.4" })
}
