package coordinator_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// TestFirstListsAreMostRecent checks that no informer of the coordinator begins with a list that may be as old as an
// API server's cache, whether API servers stream lists or not.
func TestFirstListsAreMostRecent(t *testing.T) {
	for name, streams := range map[string]bool{"streamed": true, "listed": false} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, "w1")
			lists := apitest.RecordLists(t, c.config, streams)
			c.startCoordinator("a")
			c.eventually(func() string {
				if _, err := c.ours.NodeUpgrades.Get(t.Context(), "w1", metav1.GetOptions{}); err != nil {
					return err.Error()
				}
				return ""
			})
			for _, resource := range []string{
				"nodes", "pods", "leases", "daemonsets", "endpointslices", "validatingwebhookconfigurations", "mutatingwebhookconfigurations",
				"upgradepolicies", "maintenanceschedules", "clusterupgrades", "nodeupgrades", "nodeinventories", "upgraderecords", "coordinatorstates",
			} {
				if !lists.Has(resource) {
					t.Errorf("no first list of %s was %s", resource, name)
				}
			}
		})
	}
}
