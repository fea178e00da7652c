package plan

import (
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// maxWakes ends a forecast in which nobody has begun for so many changes of
// windows: nobody will.
const maxWakes = 500

// givingUp is how long a node is expected to need that was called back.
const givingUp = time.Minute

// Predict is Decide, and says for each node when it is expected to begin and to
// be done, across the windows to come. It lets the same decisions be made again
// and again, at each instant at which one may come out differently, while every
// node takes as long as this cluster's nodes took before. What cannot be known
// (when a node that failed is mended, when people resume) is taken to stay as
// it is: nodes that wait for it get no prediction.
func Predict(s Snapshot, now time.Time) Plan {
	p := Decide(s, now)
	f := newForecast(s, now)
	f.run()
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if span, ok := f.spans[n.Name]; ok {
			n.PredictedStart, n.PredictedEnd = &span.start, &span.end
		}
	}
	p.PredictedStart, p.PredictedEnd = f.whole()
	return p
}

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

func newForecast(s Snapshot, now time.Time) *forecast {
	d := newDecider(s, now)
	// What the forecast changes is its own.
	s.Slots = withSlots(s.Slots, d.budget)
	s.APIServers, s.Etcd = slices.Clone(s.APIServers), slices.Clone(s.Etcd)
	f := &forecast{decider: newDecider(s, now), spans: map[string]span{}}
	if f.target == nil || f.wholly.Reason != "" {
		f.nodes = nil
		return f
	}
	f.decideNodes()
	f.freeSlots(f.slotPlan())
	for _, n := range f.nodes {
		f.takeUp(n)
	}
	f.forgetDone()
	return f
}

// withSlots is the slots as the coordinator will have made them.
func withSlots(slots []Slot, budget int) []Slot {
	there := map[string]bool{}
	for _, slot := range slots {
		there[slot.Name] = true
	}
	slots = slices.Clone(slots)
	for i := range budget {
		if !there[slotName(i)] {
			slots = append(slots, Slot{Name: slotName(i)})
		}
	}
	return slots
}

// freeSlots does what the coordinator does about owners that may not go.
func (f *forecast) freeSlots(p SlotPlan) {
	for _, n := range f.nodes {
		if n.slot != nil && n.slot.Holder == (Owner{}) && slices.Contains(p.Withdraw, n.Owner()) {
			n.slot = nil
		}
	}
	for i := range f.Slots {
		slot := &f.Slots[i]
		for _, gone := range [][]Owner{p.Reap, p.Abandon, p.Withdraw} {
			if slices.Contains(gone, slot.Holder) || slot.Holder == (Owner{}) && slices.Contains(gone, slot.ReservedFor) {
				slot.Holder, slot.ReservedFor = Owner{}, Owner{}
			}
		}
	}
}

// takeUp takes a node as it is: at work already, or on its way to be staged.
func (f *forecast) takeUp(n *node) {
	switch {
	case !n.counts() || n.failed():
	case n.busy():
		start := passBegan(n, f.now)
		w := work{node: n, components: n.spec.Release == v1alpha1.ReleaseControlPlane}
		w.givesUp = n.decision == Wait || !f.forTarget(n) || n.status.Step == v1alpha1.StepAborting
		w.span = span{start, start.Add(f.expected(n, w.components))}
		if w.givesUp {
			w.end = f.now.Add(givingUp)
		}
		if w.end.Before(f.now) {
			w.end = f.now
		}
		f.begin(w)
	case n.Ready && !n.stagedAt(f.to) && !stageErrors[n.status.Reason] && n.status.Step != "":
		at := f.now.Add(f.durations().staging)
		f.staged = &at
	}
}

// passBegan is when a node that is at work took its slot.
func passBegan(n *node, now time.Time) time.Time {
	for _, step := range slices.Backward(n.status.Steps) {
		if step.Step == v1alpha1.StepLocking {
			return step.StartedAt.Time
		}
	}
	if n.status.Since != nil {
		return n.status.Since.Time
	}
	return now
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
	if w.phase != committed {
		spec.Upgrade, spec.Release, spec.Kubeadm = f.target.Name, w.release, w.kubeadm
	}
	w.node.spec, w.node.phase = &spec, committed
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

// pass lets happen what is due.
func (f *forecast) pass() {
	if f.staged != nil && !f.now.Before(*f.staged) {
		f.staged = nil
		for _, n := range f.nodes {
			if n.Ready && !stageErrors[n.status.Reason] && n.status.Step != "" {
				n.runs.staged = f.to
			}
		}
	}
	f.working = slices.DeleteFunc(f.working, func(w work) bool {
		due := !w.end.After(f.now)
		if due {
			f.finish(w)
		}
		return due
	})
	f.forgetDone()
}

// finish brings a node back into service.
func (f *forecast) finish(w work) {
	n := w.node
	n.phase, n.Node.Slot, n.Ready = resting, "", true
	spec := *n.spec
	spec.Release = v1alpha1.ReleaseNone
	n.spec = &spec
	if n.slot != nil {
		n.slot.ReservedFor, n.slot.Holder = Owner{}, Owner{}
		n.slot = nil
	}
	f.setReady(n)
	switch {
	case w.givesUp:
	case w.components:
		n.runs.kubeadm, n.runs.controlPlane = f.to, f.to
		f.setServer(n)
	default:
		n.runs.kubelet = f.to
		f.spans[n.Name] = w.span
	}
}

// setReady lets n's etcd member come back.
func (f *forecast) setReady(n *node) {
	for i := range f.Etcd {
		if n.ControlPlane && f.Etcd[i].Node == n.Name {
			f.Etcd[i].Ready = true
		}
	}
}

// setServer lets n's apiserver run the new version.
func (f *forecast) setServer(n *node) {
	server := StaticPod{Node: n.Name, Version: f.to.String(), Ready: true}
	i := slices.IndexFunc(f.APIServers, func(pod StaticPod) bool { return pod.Node == n.Name })
	if i < 0 {
		f.APIServers = append(f.APIServers, server)
		return
	}
	f.APIServers[i] = server
}

// forgetDone leaves out nodes about which nothing is left to decide. Control
// planes stay: others are decided by how they are.
func (f *forecast) forgetDone() {
	f.nodes = slices.DeleteFunc(f.nodes, func(n *node) bool {
		done := !n.ControlPlane && n.Ready && n.phase == resting && n.slot == nil && n.Node.Slot == "" && n.asWanted(f.to)
		return done || !n.counts() && !n.ControlPlane
	})
}

// whole is the first begin and the last end; no end where a node stays behind.
func (f *forecast) whole() (start, end *time.Time) {
	if f.begins.IsZero() {
		return nil, nil
	}
	for _, n := range f.nodes {
		if n.counts() && !n.asWanted(f.to) {
			return &f.begins, nil
		}
	}
	var last time.Time
	for _, span := range f.spans {
		if span.end.After(last) {
			last = span.end
		}
	}
	return &f.begins, &last
}
