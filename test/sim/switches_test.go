package sim

import (
	"math/rand/v2"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// anySwitches returns faults by which people change which nodes are managed, in one seed of
// four.
func anySwitches(s script) (list []fault) {
	r := rand.New(rand.NewPCG(s.Seed, 5))
	if s.Workers == 0 || r.IntN(4) > 0 {
		return nil
	}
	names := s.nodes()
	for range 1 + r.IntN(4) {
		f := fault{
			At: early(r.Float64(), s.Lasts), Kind: []string{"leave pool", "leave pool", "switch node", "switch node", "observe"}[r.IntN(5)],
			Who: names[r.IntN(len(names))], Number: r.IntN(12), For: time.Duration(5+r.IntN(180)) * time.Second,
		}
		if r.IntN(2) == 0 {
			f.Step = triggers[r.IntN(len(triggers))]
		}
		list = append(list, f)
	}
	return list
}

// injectSwitch changes which nodes are managed: those with one value of the label pool are not
// for a while, a worker changes for good, or no node is managed for a while.
func (w *world) injectSwitch(f fault) {
	switch f.Kind {
	case "leave pool":
		for _, n := range w.nodes {
			if who := w.node(f.Who); who != nil && n.labels["pool"] == who.labels["pool"] && !n.unmanaged {
				n.comesBack = true
				w.manage(n, false)
				w.until(f, func() { w.comeBack(n) })
			}
		}
	case "switch node":
		if n := w.node(f.Who); n != nil && !n.controlPlane {
			n.comesBack = false
			w.manage(n, n.unmanaged)
		}
	case "observe":
		w.setMode(v1alpha1.ModeObserve)
		w.until(f, func() { w.setMode(v1alpha1.ModeManage) })
	}
}

// endSwitches ends those that are for a while.
func (w *world) endSwitches() {
	w.setMode(v1alpha1.ModeManage)
	for _, n := range w.nodes {
		w.comeBack(n)
	}
}

func (w *world) comeBack(n *node) {
	if n.comesBack {
		n.comesBack = false
		w.manage(n, true)
	}
}

// manage has the UpgradePolicy select the node, or not.
func (w *world) manage(n *node, managed bool) {
	if n.removed {
		return
	}
	n.unmanaged, n.managedOnce = !managed, n.managedOnce || managed
	w.since["unmanaged "+n.uid] = w.now()
	w.edit(key{Resource: "nodes", Name: n.name}, func(t tree) {
		if labels := child(t, "metadata", "labels"); managed {
			delete(labels, "unmanaged")
		} else {
			labels["unmanaged"] = ""
		}
	})
}

func (w *world) observes() bool {
	policy := w.livePolicy()
	return policy != nil && policy.Spec.Mode == v1alpha1.ModeObserve
}

func (w *world) setMode(mode v1alpha1.ManagementMode) {
	w.since["observe"] = w.now()
	w.editPolicy(func(spec tree) { spec["mode"] = string(mode) })
}
