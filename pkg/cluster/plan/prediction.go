package plan

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// maxIdle is after how many instants without a start the prediction gives up.
const maxIdle = 500

// prediction simulates the upgrade: at each instant it decides for the cluster as it will
// be then, and derives the next cluster.
type prediction struct {
	*cluster
	working []work
	spans   map[string]span // of pass 2, by node
	begins  time.Time       // of the first node, pass 1 included; zero: no node begins
	staged  *time.Time      // when the images that are being staged will be there
	idle    int             // instants since a node last began
}

type span struct{ start, end time.Time }

// work is a node that is out of service, or on which kubeadm runs.
type work struct {
	*node
	span
	components bool // pass 1
	snapshot   bool // with a snapshot of etcd
	aborts     bool
}

// run goes from one instant to the next at which a decision may change, until there is
// none. It ends, because each node begins at most once in each pass, and after maxIdle
// instants without a start it gives up.
func (p *prediction) run() {
	for len(p.nodes) > 0 && p.idle < maxIdle {
		begun, wake := p.releaseNodes()
		next := p.nextInstant(wake)
		if next == nil {
			return
		}
		p.cluster = p.after(begun, *next)
	}
}

// releaseNodes decides as Decide does, until the budget is used up. It returns the
// nodes that begin, and when a decision may change.
func (p *prediction) releaseNodes() (begun []work, wake wakeTime) {
	p.idle++
	wake.now = p.now
	a := newAllocation(p.cluster)
	for _, n := range p.candidates {
		if a.full() {
			break
		}
		if _, done := p.spans[n.Name]; done {
			continue
		}
		slot, hold := a.admit(n)
		if hold.Holds() {
			wake.at(hold.Until)
			continue
		}
		w := work{node: p.asBegun(n, slot), components: p.pass1, snapshot: n == p.snapshotNode}
		w.span = span{p.now, p.now.Add(p.expectedDuration(n))}
		begun = append(begun, w)
		p.addWork(w)
	}
	p.windows.closing(p.now, &wake)
	return begun, wake
}

// asBegun returns the node as it is once it has begun with that slot.
func (p *prediction) asBegun(n *node, slot string) *node {
	reference, spec := p.target.Reference(), *n.spec
	spec.Upgrade, spec.Release, spec.Slot, spec.Kubeadm = &reference, p.releaseNow(), slot, p.kubeadm(n)
	return p.changed(n, func(n *node) {
		n.spec, n.phase = &spec, v1alpha1.PhaseCommitted
		n.lease = &fleet.Slot{Name: slot, ReservedFor: n.Owner(), Holder: n.Owner()}
	})
}

// addWork adds a node that goes out of service, or is.
func (p *prediction) addWork(w work) {
	p.idle = 0
	if p.begins.IsZero() || w.start.Before(p.begins) {
		p.begins = w.start
	}
	p.working = append(p.working, w)
}

// nextInstant returns when something happens next: a node is done, images are staged, a
// window opens or closes, a node retries.
func (p *prediction) nextInstant(wake wakeTime) *time.Time {
	next := wake.next
	consider := func(t *time.Time) {
		if t != nil && (next == nil || t.Before(*next)) {
			next = t
		}
	}
	for i := range p.working {
		consider(&p.working[i].end)
	}
	consider(p.staged)
	return next
}
