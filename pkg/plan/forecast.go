package plan

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// maxWakes ends a forecast in which nobody has begun for so many changes of
// windows: nobody will.
const maxWakes = 500

// forecast lets time pass for a decider.
type forecast struct {
	*decider
	working []work
	spans   map[string]span // of pass 2, by node
	begins  time.Time       // the first of all, pass 1 included; zero: nobody
	staged  *time.Time      // when the images that are on their way will be there
	idle    int             // changes of windows since somebody began
}

type span struct{ start, end time.Time }

// work is a node that is out of service, or under kubeadm's hands.
type work struct {
	*node
	span
	components bool // pass 1
	givesUp    bool
}

// run goes from one instant to the next at which a decision may come out
// differently, until there is none.
func (f *forecast) run() {
	for len(f.nodes) > 0 && f.idle < maxWakes {
		f.again()
		f.letGo()
		next := f.nextInstant()
		if next == nil {
			return
		}
		f.now = *next
		f.gates.move(f.now)
		f.pass()
	}
}

// again makes the decider forget what it decided at the last instant.
func (f *forecast) again() {
	f.view, f.wake = view{}, nil
	for _, g := range f.groups {
		g.down, g.blocked = 0, nil
	}
	for _, n := range f.nodes {
		n.forget()
	}
}

// letGo asks one node after another, as Decide does, as long as there is room
// for one more.
func (f *forecast) letGo() {
	f.idle++
	for _, n := range f.open() {
		if f.down >= f.budget {
			break
		}
		hold := f.candidate(n)
		if hold.Reason != "" {
			f.wakeAt(hold.Until)
			continue
		}
		f.take(n)
		w := work{node: n, components: f.pass1}
		w.span = span{f.now, f.now.Add(f.needs(n))}
		f.begin(w)
	}
}

// take lets n take the slot that was reserved for it.
func (f *forecast) take(n *node) {
	for i := range f.Slots {
		if f.Slots[i].Name == n.reserve {
			f.Slots[i].ReservedFor, f.Slots[i].Holder = n.Owner(), n.Owner()
			n.slot = &f.Slots[i]
			return
		}
	}
}

// begin takes a node out of service.
func (f *forecast) begin(w work) {
	f.idle = 0
	if f.begins.IsZero() || w.start.Before(f.begins) {
		f.begins = w.start
	}
	spec := *w.spec
	if w.phase != v1alpha1.PhaseCommitted {
		reference := f.target.Reference()
		spec.Upgrade, spec.Release, spec.Kubeadm = &reference, w.release, w.kubeadm
	}
	w.node.spec, w.node.phase = &spec, v1alpha1.PhaseCommitted
	f.working = append(f.working, w)
}

// nextInstant is when something happens next: a node is done, images are there,
// a window opens or closes, somebody tries again.
func (f *forecast) nextInstant() *time.Time {
	next := f.wake
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
