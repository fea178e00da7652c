package agent

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Who can write the order chooses what runs as root here. What its upgrade did not
// fix at the trigger is neither downloaded nor run, and the status says so.
func TestOrderThatTheUpgradeDidNotFix(t *testing.T) {
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
			status := c.await("it says so", func(s told) bool { return s.Reason == v1alpha1.ReasonOrderMismatch })
			if status.Step != v1alpha1.StepStaging || !strings.Contains(status.Message, row.want) || len(c.host.verbs()) > 0 {
				t.Errorf("%s: %s; on the host: %v", status.Step, status.Message, c.host.verbs())
			}
			// The order is put right, and changed again once the image lies there.
			c.order(v1alpha1.ReleaseNone)
			c.awaitStep(v1alpha1.StepWaiting)
			c.order(v1alpha1.ReleaseNode, row.change)
			c.await("it says so again", func(s told) bool { return s.Reason == v1alpha1.ReasonOrderMismatch })
			if began := c.host.verbs(); !slices.Equal(began, []string{"stage"}) {
				t.Errorf("on the host: %v", began)
			}
			c.order(v1alpha1.ReleaseNode)
			c.awaitStep(v1alpha1.StepIdle)
			c.free()
		})
	}
}

// A node that follows an upgrade that is over compares with what the UpgradePolicy
// remembers of it.
func TestOrderOfAnUpgradeThatIsOver(t *testing.T) {
	c := newCluster(t, "agent-order-late")
	gone := v1alpha1.UpgradeReference{Name: "gone", UID: "of-the-deleted-one"}
	c.brought(gone)
	c.order(v1alpha1.ReleaseNone, ofUpgrade(gone), func(s *v1alpha1.NodeUpgradeSpec) { s.Image.Digest = v1alpha1.DigestOf(strings.Repeat("b", 64)) })
	c.run()
	status := c.await("it says so", func(s told) bool { return s.Reason == v1alpha1.ReasonOrderMismatch })
	if len(c.host.verbs()) > 0 {
		t.Errorf("%s; on the host: %v", status.Message, c.host.verbs())
	}
	c.order(v1alpha1.ReleaseNone, ofUpgrade(gone))
	c.await("it is staged", func(s told) bool { return s.Versions.Staged == "v1.34.4" })
}
