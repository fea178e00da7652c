package plan_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// TestRecordStaysWithinLimits checks that no piece of a record is too large for etcd, which
// would keep the upgrade from ending, and that every node is in one of the pieces.
func TestRecordStaysWithinLimits(t *testing.T) {
	for _, row := range []struct {
		name                  string
		letters, nodes, steps int
		pieces                int // at least
	}{
		{"one piece", 40, 500, 2, 1},
		{"more nodes than one piece takes", 8, 6000, 2, 12},
		{"the longest names", 253, 5000, 2, 11},
		{"as many steps as the API takes", 253, 2000, 64, 60},
		{"more steps", 8, 10, 200, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := plan.Decide(finishedCluster(row.nodes, row.letters, row.steps), time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
			if status := p.Statuses[0].Status; status.Outcome != v1alpha1.OutcomeSucceeded {
				t.Fatalf("the upgrade has not ended: %+v", status.Conditions)
			}
			recorded := map[string]bool{}
			for i, r := range p.Records {
				text, err := json.Marshal(r)
				if err != nil {
					t.Fatal(err)
				}
				if len(text) > 256<<10 || len(r.Spec.Nodes) > 500 || len(r.Name) > 253 {
					t.Errorf("piece %s has %d nodes in %d bytes, want at most 500 in 256 KiB", r.Name, len(r.Spec.Nodes), len(text))
				}
				if int(r.Spec.Piece) != i+1 || int(r.Spec.Pieces) != len(p.Records) || !strings.HasSuffix(r.Name, fmt.Sprintf("-uid-the--%d", i+1)) {
					t.Errorf("piece %s is %d of %d, want %d of %d", r.Name, r.Spec.Piece, r.Spec.Pieces, i+1, len(p.Records))
				}
				for _, n := range r.Spec.Nodes {
					recorded[n.Name] = true
					if len(n.Steps) > 64 {
						t.Fatalf("%s has %d steps, want at most 64", n.Name, len(n.Steps))
					}
				}
			}
			if len(recorded) != row.nodes || len(p.Records) < row.pieces {
				t.Errorf("%d nodes in %d pieces, want %d in at least %d", len(recorded), len(p.Records), row.nodes, row.pieces)
			}
		})
	}
}

// finishedCluster returns a cluster whose upgrade has just ended.
func finishedCluster(nodes, letters, steps int) clusterstate.Snapshot {
	at := metav1.NewMicroTime(time.Date(2026, 11, 21, 11, 0, 0, 999999000, time.UTC))
	u := v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: strings.Repeat("u", 253), UID: "uid-the-upgrade"}, Spec: v1alpha1.ClusterUpgradeSpec{Version: "v1.34.4"}}
	u.Status.TriggerTime = &metav1.Time{Time: at.Time}
	reference := u.Reference()
	s := clusterstate.Snapshot{APIServers: []clusterstate.StaticPod{{Version: "v1.34.4", Ready: true}}}
	for i := range nodes {
		n := clusterstate.Node{Name: fmt.Sprintf("n%05d%s", i, strings.Repeat("x", letters-6)), Kubelet: "v1.34.4", OS: "linux", Ready: true}
		s.Nodes = append(s.Nodes, n)
		nodeUpgrade := v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: n.Name}}
		nodeUpgrade.Status = v1alpha1.NodeUpgradeStatus{
			Upgrade: &reference, Step: v1alpha1.StepIdle,
			Versions: v1alpha1.NodeVersions{From: "v1.34.3"}, Retry: v1alpha1.Retry{Attempts: 1000},
		}
		for i := range steps {
			step := v1alpha1.StepTime{Step: v1alpha1.StepSnapshotting, StartTime: at, EndTime: &at}
			if i == 0 {
				step.Step = v1alpha1.StepLocking
			}
			nodeUpgrade.Status.Steps = append(nodeUpgrade.Status.Steps, step)
		}
		s.NodeUpgrades = append(s.NodeUpgrades, nodeUpgrade)
	}
	s.Upgrades = append(s.Upgrades, u)
	return s
}

// TestRecordHasClusterName checks that each piece of a record says what the UpgradePolicy calls the cluster.
func TestRecordHasClusterName(t *testing.T) {
	for _, want := range []string{"prod-eu-1", ""} {
		s := finishedCluster(600, 8, 2)
		s.Policy = newSim(rebootDay).Policy
		s.Policy.Spec.ClusterName = want
		p := plan.Decide(s, time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
		if len(p.Records) < 2 {
			t.Fatalf("%d pieces, want at least 2", len(p.Records))
		}
		for _, r := range p.Records {
			if r.Spec.ClusterName != want {
				t.Errorf("piece %s has the name %q, want %q", r.Name, r.Spec.ClusterName, want)
			}
		}
	}
}
