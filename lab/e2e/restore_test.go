//go:build e2e

package e2e

import (
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Two objects: one from before the upgrade, one from after it.
const (
	beforeIt = "before-the-upgrade"
	afterIt  = "after-the-upgrade"
)

// restores runs the commands of docs/rollback.md on the real control planes.
func (c *testCluster) restores(t *testing.T) {
	c.must(t)(c.Kube(c.ctx, "-n", "default", "create", "configmap", afterIt))
	upgrade, err := c.ours.ClusterUpgrades.Get(c.ctx, minorTo, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := c.RestoreEtcd(c.ctx, c.root, *upgrade.Status.EtcdSnapshot, c.controlPlanes()...); err != nil {
		t.Fatal(err)
	}
	t.Logf("restored from %s on %s in %s", upgrade.Status.EtcdSnapshot.Path, upgrade.Status.EtcdSnapshot.Node, time.Since(began).Round(time.Second))
	maps := c.kube.CoreV1().ConfigMaps("default")
	if _, err := maps.Get(c.ctx, beforeIt, metav1.GetOptions{}); err != nil {
		t.Errorf("reading the object from before the upgrade: %v", err)
	}
	if _, err := maps.Get(c.ctx, afterIt, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the object from after the upgrade: got error %v, want NotFound", err)
	}
	c.eventually(t, 3*time.Minute, "every node is Ready again", c.everyNodeReady)
}

func (c *testCluster) everyNodeReady() error {
	_, err := c.Kube(c.ctx, "wait", "--for=condition=Ready", "nodes", "--all", "--timeout", "10s")
	return err
}
