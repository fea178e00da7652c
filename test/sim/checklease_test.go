package sim

import (
	"maps"
	"slices"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/slot"
)

func slotOf(s *stored) (one clusterstate.Slot) {
	if s != nil {
		one, _ = slot.FromLease(s.object("leases").(*coordinationv1.Lease))
	}
	return one
}

// checkLease checks promises 4 and 6 on a change of a slot.
func (w *world) checkLease(by string, k key, before, after *stored) {
	was, is := slotOf(before), slotOf(after)
	none := clusterstate.Owner{}
	if was.Holder != is.Holder || was.ReservedFor != is.ReservedFor {
		w.note("%s: %s is reserved for %q and held by %q", by, k.Name, is.ReservedFor.Node, is.Holder.Node)
	}
	w.since["lease "+k.Name] = w.now()
	if was.Holder != none && was.Holder != is.Holder {
		w.since[map[bool]string{true: "robbed ", false: "freed "}[by == "admin"]+was.Holder.UID] = w.now()
	}
	if is.Holder != none && was.Holder != is.Holder && by != "admin" {
		w.since["took "+is.Holder.UID] = w.now()
	}
	if by == "admin" {
		nu := w.nodeUpgrade(is.Holder.Node)
		if was.Holder == none && is.Holder != none && is.Holder == was.ReservedFor && nu != nil && nu.Spec.Slot == k.Name {
			w.lastHolder[k.Name] = is.Holder.String() // its agent need not take it any more
		}
		w.since["given "+is.Holder.UID] = w.now()
		return
	}
	_, byAgent := strings.CutPrefix(by, "agent ")
	tookWas, tookIs := w.took(was.Holder, k.Name), w.took(is.Holder, k.Name)
	if is.Holder != was.Holder && w.lastHolder[k.Name] == was.Holder.String() {
		w.lastHolder[k.Name] = ""
	}
	switch {
	case was.Holder == is.Holder:
	case was.Holder != none && is.Holder != none && (byAgent || tookWas && !w.abandoned(was.Holder) && !w.returnsTo(is.Holder, was.Holder) || !tookIs && !w.wasAbandoned(is.Holder)):
		w.broken("promise 4", "%s gives %s of %s to %s", by, k.Name, was.Holder, is.Holder)
	case is.Holder == none && byAgent:
		w.checkFreed(by, k.Name, was.Holder)
	case is.Holder == none:
		object := w.api.objects[key{Resource: "nodes", Name: was.Holder.Node}]
		exists := object != nil && text(metadata(object.tree), "uid") == was.Holder.UID
		if exists && !w.abandoned(was.Holder) && tookWas && !w.inService(was.Holder) && !w.lied[was.Holder.Node] { // a node may free its own slot
			w.broken("promise 4", "%s frees %s, and %s still exists", by, k.Name, was.Holder)
		}
	case byAgent:
		if was.ReservedFor != is.Holder || by != "agent "+is.Holder.Node {
			w.broken("promise 4", "%s makes %s the holder of %s, which is reserved for %s", by, is.Holder, k.Name, was.ReservedFor)
		}
		w.lastHolder[k.Name] = is.Holder.String()
		w.checkTakes(w.agents[is.Holder.UID])
		if a := w.agents[is.Holder.UID]; a != nil {
			w.began[a.steps.State().Upgrade.UID] = true
		}
	case !tookIs && !w.wasAbandoned(is.Holder) && !w.givenLately(is.Holder.UID) && !w.lied[is.Holder.Node]: // who says that it is at work gets its slot back
		w.broken("promise 4", "%s gives %s to %s, which had not taken it: %q held it last", by, k.Name, is.Holder, w.lastHolder[k.Name])
	}
}

// givenLately reports whether a person has just given a slot to the node, which may be at work with it.
func (w *world) givenLately(uid string) bool {
	given, ok := w.since["given "+uid]
	return ok && w.now().Sub(given) < grace
}

// took reports whether the node is the last that took the slot, or claims it.
func (w *world) took(owner clusterstate.Owner, slot string) bool {
	return w.lastHolder[slot] == owner.String() || w.claims(owner, slot)
}

// holdsSlot reports whether the node has taken a slot, and not freed it.
func (w *world) holdsSlot(owner clusterstate.Owner) bool {
	return slices.Contains(slices.Collect(maps.Values(w.lastHolder)), owner.String())
}

// claims reports whether the node's annotation and its NodeUpgrade's spec both name the slot. A kubelet
// may annotate its Node, and gets no other slot by that than the one reserved for it.
func (w *world) claims(owner clusterstate.Owner, slot string) bool {
	nu := w.nodeUpgrade(owner.Node)
	return nu != nil && nu.Spec.Slot == slot && nu.OwnedBy(types.UID(owner.UID)) && w.marksSlot(owner, slot)
}

// marksSlot reports whether the node's annotation names the slot.
func (w *world) marksSlot(owner clusterstate.Owner, slot string) bool {
	object := w.api.objects[key{Resource: "nodes", Name: owner.Node}]
	return object != nil && text(inner(metadata(object.tree), "annotations"), v1alpha1.SlotAnnotation) == slot
}

// inService reports whether a node has ended its turn, whatever its slots say: nothing runs, its
// Node has no marks of ours, and its step says so.
func (w *world) inService(owner clusterstate.Owner) bool {
	i := slices.IndexFunc(w.nodes, func(n *node) bool { return n.owner() == owner })
	nu, object := w.nodeUpgrade(owner.Node), get[*corev1.Node](w.api, key{Resource: "nodes", Name: owner.Node})
	if i < 0 || nu == nil || object == nil {
		return false
	}
	n := w.nodes[i]
	return n.on && n.busy() == "" && !n.shutting && !n.removed && nu.Status.Step.Info().Phase == v1alpha1.PhaseInService &&
		object.Annotations[v1alpha1.CordonAnnotation] == "" && object.Annotations[v1alpha1.SlotAnnotation] == ""
}

func (w *world) abandoned(owner clusterstate.Owner) bool {
	nu := w.nodeUpgrade(owner.Node)
	return nu != nil && nu.Abandoned != nil
}

// checkFreed checks a slot that its node has just freed.
func (w *world) checkFreed(by, name string, owner clusterstate.Owner) {
	for _, n := range w.nodes {
		if n.owner() != owner || n.removed {
			continue
		}
		if v := n.busy(); v != "" {
			w.broken("promise 4", "%s frees %s while %s runs", by, name, v)
		}
		if n.certificates.left {
			w.broken("certificates", "%s frees %s while certificates are half renewed", by, name)
		}
		if n.shutting && n.ours { // its agent cannot see a reboot that a person began
			w.broken("promise 4", "%s frees %s while the node reboots", by, name)
		}
		object := get[*corev1.Node](w.api, key{Resource: "nodes", Name: n.name})
		if object != nil && (object.Annotations[v1alpha1.CordonAnnotation] != "" || object.Annotations[v1alpha1.SlotAnnotation] != "") {
			w.broken("promise 4", "%s frees %s while the Node is still marked", by, name)
		}
		nu := w.nodeUpgrade(n.name)
		if nu != nil && w.liars[n.name] == nil && nu.OwnedBy(object.GetUID()) && nu.Status.Step.Info().Phase == v1alpha1.PhaseStopped {
			w.broken("promise 6", "%s frees %s in step %s", by, name, nu.Status.Step)
		}
	}
}
