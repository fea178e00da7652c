//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// fewLines is what the YAML of an idle worker's NodeUpgrade stays below.
const fewLines = 45

// remains looks at the objects after the upgrade has ended: nothing of it stays
// with the nodes, one UpgradeRecord names every node, and the policy knows the
// version for nodes that join late.
func (w *world) remains(t *testing.T) {
	var idle string
	w.eventually(t, time.Minute, "w1 keeps nothing of the upgrade", func() (err error) {
		if idle, err = w.Kube(w.ctx, "get", "nodeupgrade", "w1", "-o", "yaml"); err != nil {
			return err
		}
		if lines := strings.Count(idle, "\n"); lines >= fewLines || strings.Contains(idle, "\n  upgrade:") {
			return fmt.Errorf("%d lines, want less than %d and no upgrade:\n%s", lines, fewLines, idle)
		}
		return nil
	})
	t.Log("\n" + idle)
	upgrade, err := w.ours.ClusterUpgrades.Get(w.ctx, to, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	records, err := w.ours.UpgradeRecords.List(w.ctx, metav1.ListOptions{LabelSelector: v1alpha1.UpgradeUIDLabel + "=" + string(upgrade.UID)})
	if err != nil {
		t.Fatal(err)
	}
	if len(records.Items) != 1 {
		t.Errorf("%d UpgradeRecords of %s, want one", len(records.Items), to)
	}
	var named []string
	for _, node := range w.courses(t, to) {
		named = append(named, node.Name)
	}
	slices.Sort(named)
	if diff := cmp.Diff(w.nodes, named); diff != "" {
		t.Errorf("nodes that the record names (-want +got):\n%s", diff)
	}
	policy, err := w.ours.UpgradePolicies.Get(w.ctx, v1alpha1.PolicyName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if policy.Status.Version != to {
		t.Errorf("the policy has the version %q for nodes that join late, want %s", policy.Status.Version, to)
	}
}

// courses returns how each node went in an upgrade that has ended.
func (w *world) courses(t *testing.T, upgrade string) []v1alpha1.NodeRecord {
	t.Helper()
	nodes, err := w.Record(w.ctx, upgrade)
	if err != nil {
		t.Fatal(err)
	}
	return nodes
}

// course returns how one node went.
func (w *world) course(t *testing.T, upgrade, name string) v1alpha1.NodeRecord {
	t.Helper()
	nodes := w.courses(t, upgrade)
	i := slices.IndexFunc(nodes, func(node v1alpha1.NodeRecord) bool { return node.Name == name })
	if i < 0 {
		t.Fatalf("the record of %s does not name %s", upgrade, name)
	}
	return nodes[i]
}
