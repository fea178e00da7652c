//go:build e2e

package e2e

import (
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Two objects that tell before from after.
const (
	beforeIt = "before-the-upgrade"
	afterIt  = "after-the-upgrade"
)

// restores walks through docs/restore.md, with its own commands, on the real
// control planes.
func (w *world) restores(t *testing.T) {
	w.must(t)(w.Kube(w.ctx, "-n", "default", "create", "configmap", afterIt))
	upgrade, err := w.ours.ClusterUpgrades.Get(w.ctx, minorTo, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := w.RestoreEtcd(w.ctx, w.root, *upgrade.Status.EtcdSnapshot, w.controlPlanes()...); err != nil {
		t.Fatal(err)
	}
	t.Logf("restored from %s on %s in %s", upgrade.Status.EtcdSnapshot.Path, upgrade.Status.EtcdSnapshot.Node, time.Since(began).Round(time.Second))
	maps := w.kube.CoreV1().ConfigMaps("default")
	if _, err := maps.Get(w.ctx, beforeIt, metav1.GetOptions{}); err != nil {
		t.Errorf("what was there before the upgrade: %v", err)
	}
	if _, err := maps.Get(w.ctx, afterIt, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("what came after the upgrade is still there: %v", err)
	}
	w.eventually(t, 3*time.Minute, "every node is Ready again", w.everyNodeReady)
}

func (w *world) everyNodeReady() error {
	_, err := w.Kube(w.ctx, "wait", "--for=condition=Ready", "nodes", "--all", "--timeout", "10s")
	return err
}
