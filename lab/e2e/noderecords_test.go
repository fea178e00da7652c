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

// fewLines is the limit for the lines of an idle worker's NodeUpgrade in YAML.
const fewLines = 45

// checkRemains checks the objects after the upgrade has ended: the nodes have nothing of it,
// one UpgradeRecord has every node, and the policy has the version for nodes that join late.
func (c *testCluster) checkRemains(t *testing.T) {
	var idle string
	c.eventually(t, time.Minute, "w1 has nothing of the upgrade", func() (err error) {
		if idle, err = c.Kube(c.ctx, "get", "nodeupgrade", "w1", "-o", "yaml"); err != nil {
			return err
		}
		if lines := strings.Count(idle, "\n"); lines >= fewLines || strings.Contains(idle, "\n  upgrade:") {
			return fmt.Errorf("got %d lines, want less than %d and no upgrade:\n%s", lines, fewLines, idle)
		}
		return nil
	})
	t.Log("\n" + idle)
	upgrade, err := c.ours.ClusterUpgrades.Get(c.ctx, to, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	records, err := c.ours.UpgradeRecords.List(c.ctx, metav1.ListOptions{LabelSelector: v1alpha1.UpgradeUIDLabel + "=" + string(upgrade.UID)})
	if err != nil {
		t.Fatal(err)
	}
	if len(records.Items) != 1 {
		t.Errorf("got %d UpgradeRecords of %s, want one", len(records.Items), to)
	}
	var named []string
	for _, node := range c.nodeRecords(t, to) {
		named = append(named, node.Name)
	}
	slices.Sort(named)
	if diff := cmp.Diff(c.nodes, named); diff != "" {
		t.Errorf("nodes in the record (-want +got):\n%s", diff)
	}
	policy, err := c.ours.UpgradePolicies.Get(c.ctx, v1alpha1.PolicyName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if policy.Status.Version != to {
		t.Errorf("the policy has the version %q for nodes that join late, want %s", policy.Status.Version, to)
	}
}

// nodeRecords returns the records of all nodes of an upgrade that has ended.
func (c *testCluster) nodeRecords(t *testing.T, upgrade string) []v1alpha1.NodeRecord {
	t.Helper()
	nodes, err := c.Record(c.ctx, upgrade)
	if err != nil {
		t.Fatal(err)
	}
	return nodes
}

// nodeRecord returns the record of one node.
func (c *testCluster) nodeRecord(t *testing.T, upgrade, name string) v1alpha1.NodeRecord {
	t.Helper()
	nodes := c.nodeRecords(t, upgrade)
	i := slices.IndexFunc(nodes, func(node v1alpha1.NodeRecord) bool { return node.Name == name })
	if i < 0 {
		t.Fatalf("the record of %s has no node %s", upgrade, name)
	}
	return nodes[i]
}
