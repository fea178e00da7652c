//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/capi"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
)

// classCase is the case of TestClusterClass.
var classCase = capiCase{
	name: "cluster-class", what: "a patch by `spec.topology.version` of a Cluster with a ClusterClass, asked for while no window is open; then one opens; a web service is asked all the time",
	run: (*managed).clusterClass,
}

// TestClusterClass has Cluster API upgrade in place the machines of a Cluster that it made from a
// ClusterClass.
func TestClusterClass(t *testing.T) {
	newManaged(t, "--cluster-class").play(t, classCase)
}

// clusterClass checks that the version reaches neither the KubeadmControlPlane nor the MachineDeployment
// before a node may go, that the Cluster says why, and that all machines are upgraded then.
func (m *managed) clusterClass(t *testing.T) {
	now := m.wanted(t)
	m.apply(t, scenario.ClosedSchedule(time.Now()))
	m.must(t)(m.Lab.Lab(m.ctx, "publish", to))
	m.watchControlPlane(t)
	m.change(t, capiClusters, capi.ClusterName, func(o *unstructured.Unstructured) { set(o, to, "spec", "topology", "version") })
	m.awaitTopology(t, 5*time.Minute, "window")
	m.staysAt(t, time.Minute, now)
	if got := m.wanted(t); got != now {
		t.Errorf("Cluster API asks for %+v, and no window is open", got)
	}
	m.apply(t, scenario.OpenSchedule)
	m.eventually(t, 25*time.Minute, "the workers may have "+to, func() error {
		if got := m.wanted(t); got.workers != to {
			return fmt.Errorf("they are to have %s", got.workers)
		}
		return nil
	})
	m.awaitUpgraded(t, to)
}

// awaitTopology waits until the Cluster says that it waits for these words, and keeps what it says for
// the page.
func (m *managed) awaitTopology(t *testing.T, limit time.Duration, words string) {
	t.Helper()
	m.eachSecond(t, limit, fmt.Sprintf("the Cluster says %q", words), func() error {
		_, message := condition(m.get(t, capiClusters, capi.ClusterName), "TopologyReconciled")
		if !strings.Contains(message, words) {
			return fmt.Errorf("it says %q", message)
		}
		m.said = strings.Join(strings.Fields(message), " ")
		return nil
	})
}
