package coordinator

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// guardReturns is how long a reboot before the guard's limit, and its way back after it, may take
// together.
const guardReturns = 10 * time.Minute

// holder is what was seen last of a node that holds a slot.
type holder struct {
	unguarded bool          // it had activated no image, or was in service
	guard     time.Duration // how long its guard watches
	goneAt    time.Time     // when its Node was first seen to be gone; zero: it is there
}

// keepsUntil returns until when the slot is kept although the holder's Node is gone: the host may
// still run, and its guard may return and reboot it.
func (h holder) keepsUntil() time.Time {
	if h.unguarded {
		return h.goneAt
	}
	return h.goneAt.Add(h.guard + guardReturns)
}

// noteHolders notes what the nodes that hold slots do: once a Node is gone, its NodeUpgrade is gone
// too. A coordinator that has just started knows nothing of a gone node, and waits. It returns when
// the next slot of a gone node is due.
func (c *Coordinator) noteHolders(s fleet.Snapshot, now time.Time) *time.Time {
	there := map[fleet.Owner]bool{}
	for i := range s.Nodes {
		there[s.Nodes[i].Owner()] = true
	}
	upgrades, holders := index(s.NodeUpgrades), map[fleet.Owner]holder{}
	var next *time.Time
	for _, one := range s.Slots {
		owner := one.Holder
		if owner == (fleet.Owner{}) {
			continue
		}
		h, known := c.holders[owner]
		if !known {
			h.guard = seconds(v1alpha1.DefaultStrategy().GuardSeconds)
		}
		if u := upgrades[owner.Node]; u != nil && u.OwnedBy(types.UID(owner.UID)) {
			phase := u.Status.Step.Info().Phase
			h.unguarded = u.Status.Step != "" && (phase == v1alpha1.PhaseRevocable || phase == v1alpha1.PhaseInService || u.Spec.Type == v1alpha1.TypeReboot)
			h.guard = max(h.guard, seconds(u.Spec.GuardSeconds))
		}
		switch {
		case there[owner]:
			h.goneAt = time.Time{}
		case h.goneAt.IsZero():
			h.goneAt = now
		}
		if until := h.keepsUntil(); !h.goneAt.IsZero() && until.After(now) {
			next = earliest(next, &until)
		}
		holders[owner] = h
	}
	c.holders, c.holdersAt = holders, now
	return next
}

// mayReturn reports whether the guard of a node whose Node is gone may still act.
func (c *Coordinator) mayReturn(owner fleet.Owner) bool {
	h, holds := c.holders[owner]
	return holds && c.holdersAt.Before(h.keepsUntil())
}

func seconds(n *int32) time.Duration { return time.Duration(ptr.Deref(n, 0)) * time.Second }
