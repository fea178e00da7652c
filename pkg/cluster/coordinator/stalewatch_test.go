package coordinator

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/slot"
)

// newWriter returns a coordinator that can write to a real API server.
func newWriter(t *testing.T) *Coordinator {
	t.Helper()
	config := FreshServer(t)
	ours, err := kube.NewKinds(config)
	if err != nil {
		t.Fatal(err)
	}
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return &Coordinator{kube: kube, slots: slot.New(kube.CoordinationV1().Leases(v1alpha1.Namespace), kube.CoreV1().Nodes(), slot.Unwatched), ours: ours, events: record.NewFakeRecorder(100), log: slog.New(slog.DiscardHandler), writers: 1, reasons: reasons{limit: flowcontrol.NewFakeAlwaysRateLimiter()}}
}

// TestStaleStatusIsNotWritten checks a coordinator with an old watch: it does not overwrite
// hashes that are fixed already, and does not write to another upgrade of the same name.
func TestStaleStatusIsNotWritten(t *testing.T) {
	c := newWriter(t)
	ours := c.ours
	seen := &v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "stale"}, Spec: v1alpha1.ClusterUpgradeSpec{Version: "v1.34.4"}}
	seen, err := ours.ClusterUpgrades.Create(t.Context(), seen, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	trigger := func(hash string) error {
		status := v1alpha1.ClusterUpgradeStatus{TriggerTime: &metav1.Time{Time: time.Now().Truncate(time.Second)}}
		status.Images = []v1alpha1.Image{{Architecture: "amd64", URL: "http://images/i.raw", Digest: v1alpha1.DigestOf(strings.Repeat(hash, 64))}}
		_, err := c.writeStatuses(t.Context(), []v1alpha1.ClusterUpgrade{*seen}, []plan.UpgradeStatus{{Name: seen.Name, UID: string(seen.UID), Status: status}})
		return err
	}
	if err := trigger("a"); err != nil {
		t.Fatal(err)
	}
	err = trigger("b")
	now, readErr := ours.ClusterUpgrades.Get(t.Context(), "stale", metav1.GetOptions{})
	if readErr != nil {
		t.Fatal(readErr)
	}
	if hash := now.Status.Images[0].Digest.SHA256(); !apierrors.IsConflict(err) || !strings.HasPrefix(hash, "a") {
		t.Errorf("got error %v and the hash %s, want a conflict and the first hash", err, hash)
	}
	if err := ours.ClusterUpgrades.Delete(t.Context(), "stale", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := ours.ClusterUpgrades.Create(t.Context(), &v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "stale"}, Spec: seen.Spec}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := trigger("a"); !apierrors.IsConflict(err) {
		t.Errorf("triggering an upgrade that was created again under the same name: got error %v, want a conflict", err)
	}
	if err := ours.ClusterUpgrades.Delete(t.Context(), "stale", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestStaleSpecIsNotWritten checks that a coordinator with an old watch does not give a node
// back the slot that it has just withdrawn, and does not empty an order that the watch lacks.
func TestStaleSpecIsNotWritten(t *testing.T) {
	c := newWriter(t)
	node := plan.NodePlan{Name: "stale", Owner: clusterstate.Owner{Node: "stale", UID: "uid-1"}, Managed: true}
	node.Spec.Upgrade, node.Spec.Type = &v1alpha1.UpgradeReference{Name: "u", UID: "uid-2"}, v1alpha1.TypeReboot
	node.Spec.Release, node.Spec.Slot = v1alpha1.ReleaseNode, "slot-0"
	if _, err := c.writeSpec(t.Context(), nil, node); err != nil {
		t.Fatal(err)
	}
	seen, err := c.ours.NodeUpgrades.Get(t.Context(), "stale", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	node.Spec.Release, node.Spec.Slot = v1alpha1.ReleaseNone, ""
	if _, err := c.writeSpec(t.Context(), seen, node); err != nil {
		t.Fatal(err)
	}
	node.Spec.Slot = "slot-0"
	if _, err := c.writeSpec(t.Context(), seen, node); !apierrors.IsConflict(err) {
		t.Errorf("writing a spec that was decided from an old NodeUpgrade: got error %v, want a conflict", err)
	}
	node.Spec = v1alpha1.NodeUpgradeSpec{}
	if _, err := c.writeSpec(t.Context(), nil, node); !apierrors.IsAlreadyExists(err) || failures(err) != "" {
		t.Errorf("creating a NodeUpgrade that the watch does not show: got error %v (%s), want one that has the next plan try again", err, failures(err))
	}
	now, err := c.ours.NodeUpgrades.Get(t.Context(), "stale", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if now.Spec.Upgrade == nil || now.Spec.Slot != "" || now.Spec.Release != v1alpha1.ReleaseNone {
		t.Errorf("the order is %+v, want that of the second write", now.Spec)
	}
	if _, err := c.writeSpec(t.Context(), now, node); err != nil {
		t.Fatal(err)
	}
	if now, err = c.ours.NodeUpgrades.Get(t.Context(), "stale", metav1.GetOptions{}); err != nil || now.Spec.Upgrade != nil || !now.OwnedBy("uid-1") {
		t.Errorf("after an empty order: %+v (%v)", now, err)
	}
}
