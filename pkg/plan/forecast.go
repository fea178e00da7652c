package plan

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// maxWakes ends a forecast in which no node has begun for so many changes of
// windows: none will.
const maxWakes = 500

// forecast lets time pass: at each instant it decides for the cluster as it will be
// then, and makes the next cluster from that.
type forecast struct {
	*cluster
	working []work
	spans   map[string]span // of pass 2, by node
	begins  time.Time       // the first of all, pass 1 included; zero: no node begins
	staged  *time.Time      // when the images that are on their way will be there
	idle    int             // changes of windows since a node began
}

type span struct{ start, end time.Time }

// work is a node that is out of service, or under kubeadm's hands.
type work struct {
	*node
	span
	components bool // pass 1
	snapshot   bool // with a snapshot of etcd
	givesUp    bool
}

// run goes from one instant to the next at which a decision may come out
// differently, until there is none.
func (f *forecast) run() {
	for len(f.nodes) > 0 && f.idle < maxWakes {
		begun, wake := f.letGo()
		next := f.nextInstant(wake)
		if next == nil {
			return
		}
		f.cluster = f.after(begun, *next)
	}
}

// letGo asks one node after another, as Decide does, as long as there is room
// for one more. It returns the nodes that begin, and when an answer may change.
func (f *forecast) letGo() (begun []work, wake alarm) {
	f.idle++
	wake.now = f.now
	a := newAllocation(f.cluster)
	for _, n := range f.candidates {
		if a.full() {
			break
		}
		slot, hold := a.admit(n)
		if hold.Holds() {
			wake.at(hold.Until)
			continue
		}
		w := work{node: f.asBegun(n, slot), components: f.pass1, snapshot: n == f.snapshotNode}
		w.span = span{f.now, f.now.Add(f.needs(n))}
		begun = append(begun, w)
		f.begin(w)
	}
	f.windows.closing(f.now, &wake)
	return begun, wake
}

// asBegun returns the node as it is once it has begun with that slot.
func (f *forecast) asBegun(n *node, slot string) *node {
	reference, spec := f.target.Reference(), *n.spec
	spec.Upgrade, spec.Release, spec.Slot, spec.Kubeadm = &reference, f.releaseNow(), slot, f.kubeadm(n)
	return f.changed(n, func(n *node) {
		n.spec, n.phase = &spec, v1alpha1.PhaseCommitted
		n.slot = &fleet.Slot{Name: slot, ReservedFor: n.Owner(), Holder: n.Owner()}
	})
}

// begin notes a node that goes out of service, or is.
func (f *forecast) begin(w work) {
	f.idle = 0
	if f.begins.IsZero() || w.start.Before(f.begins) {
		f.begins = w.start
	}
	f.working = append(f.working, w)
}

// nextInstant returns when something happens next: a node is done, images are
// there, a window opens or closes, a node tries again.
func (f *forecast) nextInstant(wake alarm) *time.Time {
	next := wake.next
	consider := func(t *time.Time) {
		if t != nil && (next == nil || t.Before(*next)) {
			next = t
		}
	}
	for i := range f.working {
		consider(&f.working[i].end)
	}
	consider(f.staged)
	return next
}
