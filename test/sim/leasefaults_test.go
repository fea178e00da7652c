package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// anyEdits returns edits after which a Lease names another node, in one seed of
// four: mostly while a node works with the slot.
func anyEdits(s script) (list []fault) {
	r := rand.New(rand.NewPCG(s.Seed, 7))
	names := s.nodes()
	if len(names) == 1 || r.IntN(4) > 0 {
		return nil
	}
	for range 1 + r.IntN(3) {
		f := fault{
			At: early(r.Float64(), s.Lasts), Kind: "edit lease", Who: names[r.IntN(len(names))], Other: names[r.IntN(len(names))],
			Number: r.IntN(12),
		}
		if r.IntN(4) > 0 {
			f.Step = withSlot[r.IntN(len(withSlot))]
		}
		list = append(list, f)
	}
	return list
}

// injectLease changes a Lease of a slot as a person may.
func (w *world) injectLease(f fault) {
	k := key{"leases", v1alpha1.Namespace, fmt.Sprintf("slot-%d", f.Number%max(1, w.script.Budget))}
	switch f.Kind {
	case "delete lease":
		w.api.remove("admin", k)
	case "clear lease":
		w.edit(k, func(t tree) {
			delete(child(t, "spec"), "holderIdentity")
			delete(child(t, "metadata", "annotations"), v1alpha1.ReservedForAnnotation)
		})
	case "garble lease":
		w.edit(k, func(t tree) { child(t, "spec")["holderIdentity"] = "garbled" })
		w.until(f, func() {
			if found := w.api.objects[k]; found != nil && child(clone(found.tree).(tree), "spec")["holderIdentity"] == "garbled" {
				w.api.remove("admin", k)
			}
		})
	case "unlabel lease":
		w.edit(k, func(t tree) { delete(metadata(t), "labels") })
	case "edit lease":
		w.editLease(k, f)
	}
}

// editLease has the Lease of the slot that a node holds, or another slot's, name another node
// with its right UID: as holder, as the one that comes next, or mostly as both.
func (w *world) editLease(k key, f fault) {
	if n := w.node(f.Who); n != nil && w.held(n) != "" {
		k.Name = w.held(n)
	}
	other, was := w.node(f.Other), slotOf(w.api.objects[k])
	if other == nil || other.owner() == was.Holder {
		return
	}
	w.edit(k, func(t tree) {
		if f.Number%4 != 0 {
			child(t, "spec")["holderIdentity"] = other.owner().String()
			w.edited[k.Name] = editedLease{w.now(), was.Holder, other.owner()}
		}
		if f.Number%4 != 1 {
			child(t, "metadata", "annotations")[v1alpha1.ReservedForAnnotation] = other.owner().String()
		}
	})
}

// editedLease is one that a person has edited: it named one node, and names another.
type editedLease struct {
	at         time.Time
	was, names clusterstate.Owner
}

// checkMended checks, after a coordinator that knew everything has carried out a plan which it
// began at that time, that no Lease which was edited before still names the wrong node: the
// NodeUpgrade of the one at work says which slot it has.
func (w *world) checkMended(began time.Time) {
	for i := range 4 {
		name := fmt.Sprintf("slot-%d", i)
		edited, found := w.edited[name]
		if !found || !edited.at.Before(began) {
			continue
		}
		if slotOf(w.api.objects[key{"leases", v1alpha1.Namespace, name}]).Holder != edited.names {
			delete(w.edited, name)
			continue
		}
		// One that was abandoned, and has reported since, may be at work with it, too, and one whose annotation
		// names it.
		both := w.took(edited.names, name) || w.marksSlot(edited.names, name) || w.ordered(edited.names, name) && w.wasAbandoned(edited.names)
		if !both && w.worksWith(edited.was, name, began) {
			w.broken("promise 4", "%s names %s, %s is at work with it, and a coordinator has made a plan since it was edited", name, edited.names, edited.was)
		}
	}
}

// ordered reports whether the node's order names the slot.
func (w *world) ordered(owner clusterstate.Owner, slot string) bool {
	nu := w.nodeUpgrade(owner.Node)
	return nu != nil && nu.OwnedBy(types.UID(owner.UID)) && nu.Spec.Slot == slot
}

// worksWith reports whether a node has said before that time that it works with the slot, and
// nothing else since.
func (w *world) worksWith(owner clusterstate.Owner, slot string, before time.Time) bool {
	nu, n := w.nodeUpgrade(owner.Node), w.node(owner.Node)
	if nu == nil || n == nil || n.owner() != owner || !nu.OwnedBy(types.UID(owner.UID)) || nu.Abandoned != nil || w.lastHolder[slot] != owner.String() {
		return false
	}
	for _, c := range slices.Backward(w.api.log["nodeupgrades"]) {
		if c.name == owner.Node {
			return c.at.Before(before) && nu.Spec.Slot == slot && slices.Contains(withSlot, nu.Status.Step)
		}
	}
	return false
}
