package plan

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// maxIdle ends a forecast in which no node began through so many changes of windows.
const maxIdle = 500

// forecast simulates the upgrade: at each instant it decides for the cluster as it will
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
// none.
func (f *prediction) run() {
	for len(f.nodes) > 0 && f.idle < maxIdle {
		begun, wake := f.releaseNodes()
		next := f.nextInstant(wake)
		if next == nil {
			return
		}
		f.cluster = f.after(begun, *next)
	}
}

// releaseNodes decides as Decide does, until the budget is used up. It returns the
// nodes that begin, and when a decision may change.
func (f *prediction) releaseNodes() (begun []work, wake wakeTime) {
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
		w.span = span{f.now, f.now.Add(f.expectedDuration(n))}
		begun = append(begun, w)
		f.addWork(w)
	}
	f.windows.closing(f.now, &wake)
	return begun, wake
}

// asBegun returns the node as it is once it has begun with that slot.
func (f *prediction) asBegun(n *node, slot string) *node {
	reference, spec := f.target.Reference(), *n.spec
	spec.Upgrade, spec.Release, spec.Slot, spec.Kubeadm = &reference, f.releaseNow(), slot, f.kubeadm(n)
	return f.changed(n, func(n *node) {
		n.spec, n.phase = &spec, v1alpha1.PhaseCommitted
		n.lease = &fleet.Slot{Name: slot, ReservedFor: n.Owner(), Holder: n.Owner()}
	})
}

// addWork adds a node that goes out of service, or is.
func (f *prediction) addWork(w work) {
	f.idle = 0
	if f.begins.IsZero() || w.start.Before(f.begins) {
		f.begins = w.start
	}
	f.working = append(f.working, w)
}

// nextInstant returns when something happens next: a node is done, images are staged, a
// window opens or closes, a node retries.
func (f *prediction) nextInstant(wake wakeTime) *time.Time {
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
