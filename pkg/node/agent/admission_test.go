package agent

import (
	"context"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/slot"
)

// TestAgentMayWriteItsNodeOnly checks that with an agent's token, as an attacker on its node
// has it, nothing can be changed beyond that node.
func TestAgentMayWriteItsNodeOnly(t *testing.T) {
	c := newCluster(t, "agent-honest")
	c.order(v1alpha1.ReleaseNone)
	ctx := t.Context()
	status := func(node string) error {
		upgrades, err := kube.NewKinds(c.account(node))
		c.must(err)
		out := &v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: c.node}, Status: v1alpha1.NodeUpgradeStatus{Step: v1alpha1.StepIdle}}
		_, err = upgrades.NodeUpgrades.Apply(ctx, out, fieldManager, "status")
		return err
	}
	awaitDenied(t, "another node's status", func() error { return status("agent-bad") })
	awaitDenied(t, "a status, with a token of no node", func() error { return status("") })
	allowed(t, "its own status", status(c.node))

	inventory := func(node string) error {
		upgrades, err := kube.NewKinds(c.account(node))
		c.must(err)
		out := &v1alpha1.NodeInventory{ObjectMeta: metav1.ObjectMeta{Name: c.node}, NodeFacts: v1alpha1.NodeFacts{GatheredTime: metav1.Now()}}
		_, err = upgrades.NodeInventories.Apply(ctx, out, fieldManager, "")
		return err
	}
	awaitDenied(t, "another node's inventory created", func() error { return inventory("agent-bad") })
	allowed(t, "its own inventory created", inventory(c.node))
	awaitDenied(t, "another node's inventory changed", func() error { return inventory("agent-bad") })
	allowed(t, "its own inventory changed", inventory(c.node))

	bad := slotsOf(kubernetes.NewForConfigOrDie(c.account("agent-bad")))
	own := slotsOf(kubernetes.NewForConfigOrDie(c.account(c.node)))
	c.must(c.slots.Reserve(ctx, "slot-0", c.owner))
	awaitDenied(t, "another node's reservation taken", func() error { return bad.Take(ctx, "slot-0", c.owner) })
	allowed(t, "its own reservation taken", own.Take(ctx, "slot-0", c.owner))
	awaitDenied(t, "another node's slot freed", func() error { return bad.Free(ctx, "slot-0", c.owner) })
	awaitDenied(t, "a slot kept for itself", func() error {
		return own.Reserve(ctx, c.secondSlot(), c.owner)
	})
	if err := own.Ensure(ctx, 3); !apierrors.IsForbidden(err) {
		t.Errorf("creating a slot: got error %v, want Forbidden", err)
	}
	allowed(t, "its own slot freed", own.Free(ctx, "slot-0", c.owner))
}

// secondSlot creates a slot that no node holds.
func (c *cluster) secondSlot() string {
	c.must(c.slots.Ensure(context.Background(), 2))
	return clusterstate.SlotName(1)
}

func allowed(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

// awaitDenied waits until an admission policy refuses do: policies take effect a moment
// after they were created.
func awaitDenied(t *testing.T, what string, do func() error) {
	t.Helper()
	var err error
	for range 600 {
		if err = do(); err != nil && strings.Contains(err.Error(), "ValidatingAdmissionPolicy") {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("%s: got error %v, want it refused by an admission policy", what, err)
}

func slotsOf(client kubernetes.Interface) *slot.Slots {
	return slot.New(client.CoordinationV1().Leases(v1alpha1.Namespace), client.CoreV1().Nodes(), slot.Unwatched)
}
