package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
)

// partResource is what the device plugin of some nodes has, and partCount how many.
const (
	partResource = "example.com/gpu"
	partCount    = 8
)

// parts are a node's devices.
type parts struct {
	has    bool
	late   bool      // the next start of the kubelet is without them
	goneAt time.Time // a kubelet has started without them, and they are not back; zero: they are there
}

// anyParts returns device plugins that come late, in one story of four: some so late that their node fails.
func anyParts(s script) (list []fault) {
	r := rand.New(rand.NewPCG(s.Seed, 31))
	if r.IntN(4) > 0 {
		return nil
	}
	names := s.nodes()
	for range 1 + r.IntN(2) {
		f := anyFault(r, s, early(r.Float64(), s.Lasts/2))
		f.Kind, f.Who = "late part", names[r.IntN(len(names))]
		f.For = time.Duration(1+r.IntN(12)) * time.Minute
		list = append(list, f)
	}
	return list
}

// injectParts gives the node devices, which its next kubelets start without until the fault ends.
func (w *world) injectParts(n *node, f fault) {
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
}

// show writes the devices to the Node's status.
func (p *parts) show(status tree) {
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
