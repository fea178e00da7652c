package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// others are the times of the other nodes that explain why one waits. They are those of all
// nodes: a node that waits is itself not among them.
type others struct {
	busy, stopped []span
	named         []named // in order of their starts; empty where there are too many
}

// named is the time in which a node was being upgraded, or had failed.
type named struct {
	span
	node    string
	stopped bool
}

// maxNamed is up to how many nodes messages name the others.
const maxNamed = 200

// briefly is how long a wait without a known cause may be before it is shown as one: an
// agent or the coordinator takes a while to notice that the cause is gone.
const briefly = time.Minute

// addWaits adds what each node waited for.
func (b *builder) addWaits() {
	var all others
	for i := range b.report.Nodes {
		n := &b.report.Nodes[i]
		for _, s := range b.busy(n) {
			all.busy, all.named = append(all.busy, s), append(all.named, named{s, n.Name, false})
		}
		for _, s := range b.stopped(n) {
			all.stopped, all.named = append(all.stopped, s), append(all.named, named{s, n.Name, true})
		}
	}
	all.busy, all.stopped = union(all.busy), union(all.stopped)
	if len(b.report.Nodes) > maxNamed {
		all.named = nil
	}
	slices.SortStableFunc(all.named, func(a, b named) int { return a.start.Compare(b.start) })
	for i := range b.report.Nodes {
		n := &b.report.Nodes[i]
		for _, s := range b.waiting(n) {
			n.Waits = append(n.Waits, b.explain(s, &b.report.Calendars[n.Calendar], &all)...)
		}
		b.explainNow(n)
	}
}

// explain divides a wait by its causes.
func (b *builder) explain(s span, c *Calendar, all *others) (waits []Wait) {
	cuts := b.cuts(s, c, all)
	for i := range len(cuts) - 1 {
		piece := span{cuts[i], cuts[i+1]}
		reason, message := b.cause(piece, c, all)
		last := len(waits) - 1
		brief := last >= 0 && waits[last].Reason == "" && waits[last].length() < briefly
		switch {
		case reason == "" && piece.length() < briefly && last >= 0:
			waits[last].End = piece.end
			continue
		case brief: // the first piece
			piece.start, waits, last = waits[last].Start, waits[:last], last-1
		}
		if last >= 0 && waits[last].Reason == reason && (reason == v1alpha1.ReasonNotItsTurn || waits[last].Message == message) {
			waits[last].End = piece.end
			continue
		}
		waits = append(waits, Wait{Start: piece.start, End: piece.end, Reason: reason, Message: message, Derived: true})
	}
	for i := range waits {
		if waits[i].Reason == v1alpha1.ReasonNotItsTurn {
			waits[i].Message = all.names(waits[i].span(), false) + " went first"
		}
	}
	if len(waits) == 1 && waits[0].Reason == "" && s.length() < briefly {
		return nil
	}
	return waits
}

// cuts returns the instants within s at which its cause may change.
func (b *builder) cuts(s span, c *Calendar, all *others) []time.Time {
	cuts := []time.Time{s.start, s.end}
	add := func(start, end time.Time) {
		for _, t := range []time.Time{start, end} {
			if t.After(s.start) && t.Before(s.end) {
				cuts = append(cuts, t)
			}
		}
	}
	for _, o := range c.Openings {
		add(o.Start, o.End)
		add(o.End.Add(-b.need()), o.End)
	}
	for _, x := range c.Exclusions {
		add(x.Start, x.End)
	}
	for _, one := range all.busy {
		add(one.start, one.end)
	}
	for _, one := range all.stopped {
		add(one.start, one.end)
	}
	slices.SortFunc(cuts, time.Time.Compare)
	return slices.CompactFunc(cuts, time.Time.Equal)
}

// explainNow replaces the derived cause of a wait that lasts by the one in the node's object.
func (b *builder) explainNow(n *Node) {
	last := len(n.Waits) - 1
	if b.report.Upgrade.Ended() || n.State != Waiting || last < 0 || !n.Waits[last].End.Equal(b.at) || n.Reason == "" {
		return
	}
	w := &n.Waits[last]
	w.Reason, w.Message, w.Derived = n.Reason, cmp.Or(n.Message, w.Message), false
}

// cause returns why a node waited for a time within which the cause does not change. An
// empty reason: it is not known.
func (b *builder) cause(piece span, c *Calendar, all *others) (v1alpha1.Reason, string) {
	within := func(list []span) bool {
		return slices.ContainsFunc(list, func(s span) bool { return s.covers(piece.start) })
	}
	window := slices.IndexFunc(c.Openings, func(o Opening) bool { return span{o.Start, o.End}.covers(piece.start) })
	for _, x := range c.Exclusions {
		if (span{x.Start, x.End}).covers(piece.start) {
			return v1alpha1.ReasonExcluded, "exclusion " + strings.TrimSuffix(x.Name+": "+x.Comment, ": ")
		}
	}
	ignoresWindows := b.report.Upgrade.WindowPolicy == v1alpha1.WindowPolicyIgnore
	switch {
	case b.invalid != nil:
		return v1alpha1.ReasonScheduleInvalid, b.invalid.Error()
	case window < 0 && !ignoresWindows:
		return v1alpha1.ReasonWindowClosed, "no window was open"
	case within(all.stopped):
		return v1alpha1.ReasonNodeFailed, all.names(piece, true) + " had failed"
	case within(all.busy):
		return v1alpha1.ReasonNotItsTurn, ""
	case window >= 0 && !ignoresWindows && c.Openings[window].End.Sub(piece.start) <= b.need():
		return v1alpha1.ReasonInsufficientTime, "too little was left of the window"
	}
	return "", "the cause is not recorded"
}

// need returns how long a node is expected to be out of service.
func (b *builder) need() time.Duration {
	usual := b.report.Usual
	need := max(usual.ControlPlaneSeconds, usual.WorkerSeconds)
	if b.upgrade != nil {
		pace := b.upgrade.Status.Strategy.Pace
		need += ptr.Deref(pace.SettleSeconds, 0) + ptr.Deref(pace.MinReadySeconds, 0)
	}
	return time.Duration(need) * time.Second
}

// names names the nodes that were being upgraded, or had failed, at some time in s.
func (o *others) names(s span, stopped bool) string {
	var names []string
	for _, one := range o.named {
		if one.stopped == stopped && one.start.Before(s.end) && s.start.Before(one.end) && !slices.Contains(names, one.node) {
			names = append(names, one.node)
		}
	}
	switch {
	case len(names) == 0:
		return "other nodes"
	case len(names) > 4:
		return fmt.Sprintf("%s and %d other nodes", strings.Join(names[:3], ", "), len(names)-3)
	}
	return strings.Join(names, ", ")
}

// wholeSeconds returns d in seconds, rounded up.
func wholeSeconds(d time.Duration) int32 {
	return int32(min(max(math.Ceil(d.Seconds()), 0), math.MaxInt32))
}

// later and earlier return one of two instants.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// Length returns a duration with its two largest units.
func Length(d time.Duration) string {
	d = max(d, 0).Round(time.Second)
	days, hours, minutes, seconds := d/(24*time.Hour), d/time.Hour%24, d/time.Minute%60, d/time.Second%60
	switch {
	case days > 0 && hours > 0:
		return fmt.Sprintf("%d d %d h", days, hours)
	case days > 0:
		return fmt.Sprintf("%d d", days)
	case hours > 0 && minutes > 0:
		return fmt.Sprintf("%d h %d min", hours, minutes)
	case hours > 0:
		return fmt.Sprintf("%d h", hours)
	case minutes > 0 && seconds > 0:
		return fmt.Sprintf("%d min %d s", minutes, seconds)
	case minutes > 0:
		return fmt.Sprintf("%d min", minutes)
	}
	return fmt.Sprintf("%d s", seconds)
}
