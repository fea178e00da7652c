package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
)

// partResource is what the device plugin of some nodes has, and partCount how many. readiness is the taint by which an
// operator keeps pods from some nodes until it is done with them.
const (
	partResource = "example.com/gpu"
	partCount    = 8
	readiness    = "example.com/not-ready:NoSchedule"
)

// parts are a node's devices, and what keeps pods from it.
type parts struct {
	has    bool
	late   bool      // the next start of the kubelet is without them
	goneAt time.Time // a kubelet has started without them, and they are not back; zero: they are there

	taints    bool      // the next start of the kubelet comes with the taint
	tainted   bool      // a kubelet has started with it, and it has not ended
	taintedAt time.Time // the Node has it; zero: it does not
}

// anyParts returns device plugins that come late, and taints that stay for a while, in one story of four: some for so long
// that their node fails.
func anyParts(s script) (list []fault) {
	r := rand.New(rand.NewPCG(s.Seed, 31))
	if r.IntN(4) > 0 {
		return nil
	}
	names := s.nodes()
	for range 1 + r.IntN(2) {
		f := anyFault(r, s, early(r.Float64(), s.Lasts/2))
		f.Kind, f.Who = [...]string{"late part", "late taint"}[r.IntN(2)], names[r.IntN(len(names))]
		f.For = time.Duration(1+r.IntN(12)) * time.Minute
		list = append(list, f)
	}
	return list
}

// injectParts gives the node devices, which its next kubelets start without until the fault ends, or a taint.
func (w *world) injectParts(n *node, f fault) {
	if f.Kind == "late taint" {
		n.parts.taints = true
		w.until(f, func() {
			n.parts.taints, n.parts.tainted = false, false
			w.report(n)
		})
		return
	}
	n.parts.has, n.parts.late = true, true
	w.report(n)
	w.until(f, func() {
		n.parts.late, n.parts.goneAt = false, time.Time{}
		w.report(n)
	})
}

// restarted notes the start of the node's kubelet.
func (p *parts) restarted(now time.Time) {
	if p.late {
		p.goneAt = now
	}
	p.tainted = p.tainted || p.taints
}

// show writes the devices and the taint to the Node.
func (p *parts) show(node tree, now time.Time) {
	spec, status := child(node, "spec"), child(node, "status")
	switch key, effect, _ := strings.Cut(readiness, ":"); {
	case !p.tainted:
		delete(spec, "taints")
		p.taintedAt = time.Time{}
	case p.taintedAt.IsZero():
		spec["taints"] = []any{tree{"key": key, "effect": effect}}
		p.taintedAt = now
	}
	if p.has {
		status["allocatable"] = tree{partResource: fmt.Sprint(map[bool]int{true: partCount}[p.goneAt.IsZero()])}
	}
}

// partsSlack is how old an agent's look at its node may be.
const partsSlack = 6 * time.Second

// checkWhole checks that no node is uncordoned without the devices that its agent has written down.
func (w *world) checkWhole(n *node, s machine.State) {
	if s.Step != v1alpha1.StepUncordoning || s.Parts == nil || n.parts.goneAt.IsZero() || w.now().Sub(n.parts.goneAt) <= partsSlack {
		return
	}
	for _, r := range s.Parts.Resources {
		if r.Name == partResource && r.Allocatable == partCount {
			w.broken("whole", "%s is uncordoned, and its devices have been gone for %s", n.name, w.now().Sub(n.parts.goneAt))
		}
	}
}

// checkKeptOut checks that a node does not end its upgrade while a taint keeps pods from it that its agent has not written down.
func (w *world) checkKeptOut(n *node, s machine.State) {
	if s.Parts == nil || slices.Contains(s.Parts.Taints, readiness) || n.parts.taintedAt.IsZero() || w.now().Sub(n.parts.taintedAt) <= partsSlack {
		return
	}
	w.broken("whole", "%s ends its upgrade, and a taint has kept pods from it for %s", n.name, w.now().Sub(n.parts.taintedAt))
}
