package agent

import (
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// TestFirstListsAreMostRecent checks that no informer of an agent that upgrades its node begins with a list that may be
// as old as an API server's cache, whether API servers stream lists or not.
func TestFirstListsAreMostRecent(t *testing.T) {
	for name, streams := range map[string]bool{"streamed": true, "listed": false} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, "lists-"+name)
			lists := apitest.RecordLists(t, c.config, streams)
			c.kubelet()
			c.pod("default", "web-"+c.node, replicated)
			c.order(v1alpha1.ReleaseNode)
			c.run()
			c.await("the node is upgraded", func(s agentStatus) bool { return s.Step == v1alpha1.StepIdle && s.Versions.Kubelet == "v1.34.4" })
			for _, resource := range []string{"nodes", "leases", "pods", "nodeupgrades", "nodeinventories"} {
				if !lists.Has(resource) {
					t.Errorf("no first list of %s was %s", resource, name)
				}
			}
		})
	}
}
