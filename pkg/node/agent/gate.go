package agent

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/slot"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
)

// gateTimeout limits the gate's reads. The gate stays closed while the API server does not
// answer, and the status should say so soon.
const gateTimeout = 15 * time.Second

// gate reports whether the node may continue now, else why not. It reads live: a broken
// watch may still show a window that closed long ago.
func (a *Agent) gate(ctx context.Context, node *corev1.Node, o machine.Observation) machine.Gate {
	ctx, cancel := context.WithTimeout(ctx, gateTimeout)
	defer cancel()
	hold, err := a.readGate(ctx, node, o)
	switch {
	case err != nil:
		return machine.Gate{Reason: v1alpha1.ReasonGateUnknown, Message: err.Error()}
	case hold.Reason != "":
		closed := machine.Gate{Reason: hold.Reason, Message: hold.Message}
		if hold.Until != nil {
			closed.Until = *hold.Until
		}
		return closed
	}
	return machine.Gate{Open: true}
}

// readGate returns the first hold that keeps the gate closed. It returns an error if a hold
// could not be read.
func (a *Agent) readGate(ctx context.Context, node *corev1.Node, o machine.Observation) (fleet.Hold, error) {
	// Once the node has its slot, the hold label, other reboot managers and the time that
	// is left in the window no longer count.
	begins := o.Slot.Held == ""
	policy, err := a.policy(ctx)
	if err != nil {
		return fleet.Hold{}, err
	}
	if hold := plan.PolicyGate(policy); hold.Holds() {
		return hold, nil
	}
	if hold, err := a.keyringHold(policy.Spec.Source.Keyring, o); err != nil || hold.Holds() {
		return hold, err
	}
	upgrade, err := a.upgradeOf(ctx, o.Spec.Upgrade)
	if err != nil {
		return fleet.Hold{}, err
	}
	if upgrade == nil {
		return fleet.Hold{Reason: v1alpha1.ReasonUpgradeWithdrawn, Message: "the node's ClusterUpgrade no longer exists"}, nil
	}
	checks := []func() (fleet.Hold, error){
		func() (fleet.Hold, error) { return a.clock(), nil }, // which upgradeOf has just compared
		func() (fleet.Hold, error) { return specHold(o.Spec, upgrade), nil },
		func() (fleet.Hold, error) { return a.window(ctx, node, upgrade, o, begins) },
		func() (fleet.Hold, error) { return a.stillReleased(ctx, o) },
		func() (fleet.Hold, error) { return a.stillHoldsSlot(ctx, node, o) },
		func() (fleet.Hold, error) { return a.skew(ctx, o) },
		func() (fleet.Hold, error) { return a.etcdHold(o, upgrade.Spec), nil },
	}
	if begins {
		checks = append(checks,
			func() (fleet.Hold, error) { return a.onHold(ctx) },
			func() (fleet.Hold, error) { return a.managers(ctx, node, upgrade.Spec) })
	}
	for _, check := range checks {
		if hold, err := check(); err != nil || hold.Reason != "" {
			return hold, err
		}
	}
	return fleet.Hold{}, nil
}

// clock holds the node while its clock differs from the API server's: it judges windows by it.
func (a *Agent) clock() fleet.Hold { return plan.ClockHold("this node", a.clockAhead()) }

func (a *Agent) clockAhead() time.Duration {
	if a.ClockAhead == nil {
		return 0
	}
	return a.ClockAhead()
}

// window returns the hold by suspend, startTime, approvals, exclusions or maintenance
// windows. For a node that begins, the rest of the window must be long enough.
func (a *Agent) window(ctx context.Context, node *corev1.Node, upgrade *v1alpha1.ClusterUpgrade, o machine.Observation, begins bool) (fleet.Hold, error) {
	schedules, err := a.Upgrades.MaintenanceSchedules.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fleet.Hold{}, fmt.Errorf("listing maintenance schedules: %w", err)
	}
	var need time.Duration
	if begins {
		need = time.Duration(ptr.Deref(o.Spec.ExpectedSeconds, 0)) * time.Second
	}
	return plan.Gate(upgrade, o.Spec.Type, schedules.Items, node.Labels, o.Now, need), nil
}

// stillReleased holds the node if its release changed since the observation.
func (a *Agent) stillReleased(ctx context.Context, o machine.Observation) (fleet.Hold, error) {
	now, err := a.Upgrades.NodeUpgrades.Get(ctx, a.Node, metav1.GetOptions{})
	if err != nil {
		return fleet.Hold{}, fmt.Errorf("reading this node's NodeUpgrade: %w", err)
	}
	if !equality.Semantic.DeepEqual(now.Spec.Upgrade, o.Spec.Upgrade) || now.Spec.Release != o.Spec.Release {
		message := fmt.Sprintf("the release was changed to %q for upgrade %q", now.Spec.Release, ptr.Deref(now.Spec.Upgrade, v1alpha1.UpgradeReference{}).Name)
		return fleet.Hold{Reason: v1alpha1.ReasonUpgradeWithdrawn, Message: message}, nil
	}
	return fleet.Hold{}, nil
}

// stillHoldsSlot holds the node if it no longer holds the slot that the watch shows.
func (a *Agent) stillHoldsSlot(ctx context.Context, node *corev1.Node, o machine.Observation) (fleet.Hold, error) {
	if o.Slot.Held == "" {
		return fleet.Hold{}, nil
	}
	lease, err := a.Account.Leases(v1alpha1.Namespace).Get(ctx, o.Slot.Held, metav1.GetOptions{})
	if err != nil {
		return fleet.Hold{}, fmt.Errorf("reading slot %s: %w", o.Slot.Held, err)
	}
	s, err := slot.FromLease(lease)
	if err != nil {
		return fleet.Hold{}, err
	}
	if s.Holder != ownerOf(node) {
		return fleet.Hold{Reason: v1alpha1.ReasonNoSlot, Message: fmt.Sprintf("this node no longer holds slot %s; its holder is %q", s.Name, s.Holder.Node)}, nil
	}
	return fleet.Hold{}, nil
}
