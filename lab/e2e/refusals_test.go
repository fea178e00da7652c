//go:build e2e

package e2e

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// checkRefused checks that apply fails with these words and creates nothing.
func (c *testCluster) checkRefused(t *testing.T, args []string, words ...string) {
	t.Helper()
	said, err := c.Upgrade(c.ctx, append([]string{"apply"}, args...)...)
	if err == nil {
		t.Fatalf("kubectl upgrade apply %s was not refused:\n%s", strings.Join(args, " "), said)
	}
	t.Log("\n" + said)
	for _, word := range words {
		if !strings.Contains(said, word) {
			t.Errorf("the refusal has no %q", word)
		}
	}
	list, err := c.ours.ClusterUpgrades.List(c.ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) > 0 {
		t.Errorf("%d ClusterUpgrades were created, want none", len(list.Items))
	}
}

func (c *testCluster) skipRefused(t *testing.T) {
	c.checkRefused(t, []string{"v1.36.1", "--yes"}, "v1.36.1", "minor")
}

func (c *testCluster) freezeRefuses(t *testing.T) {
	c.must(t)(c.Upgrade(c.ctx, "freeze", "--for", "1h", "--reason", "the shop is open"))
	for _, args := range [][]string{{"v1.35", "--yes"}, {"v1.35", "--yes", "--ignore-windows"}} {
		c.checkRefused(t, args, "the shop is open", "until")
	}
	c.must(t)(c.Upgrade(c.ctx, "unfreeze"))
}
