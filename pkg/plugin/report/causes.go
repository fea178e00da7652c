package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// cause returns why a node waited for a time within which the cause does not change. An
// empty reason: it is not known.
func (b *builder) cause(piece span, c *Calendar, all *others) (v1alpha1.Reason, string) {
	within := func(list []span) bool {
		return slices.ContainsFunc(list, func(s span) bool { return s.covers(piece.start) })
	}
	window := slices.IndexFunc(c.Openings, func(o Opening) bool { return span{o.Start, o.End}.covers(piece.start) })
	for _, x := range c.Exclusions {
		if (span{x.Start, x.End}).covers(piece.start) {
			return v1alpha1.ReasonExcluded, "exclusion " + strings.TrimSuffix(x.Name+": "+x.Reason, ": ")
		}
	}
	switch {
	case b.invalid != nil:
		return v1alpha1.ReasonScheduleInvalid, b.invalid.Error()
	case window < 0 && !b.report.Upgrade.IgnoreWindows:
		return v1alpha1.ReasonWindowClosed, "no window was open"
	case within(all.stopped):
		return v1alpha1.ReasonNodeFailed, all.names(piece, true) + " had failed"
	case within(all.busy):
		return v1alpha1.ReasonNotItsTurn, ""
	case window >= 0 && !b.report.Upgrade.IgnoreWindows && c.Openings[window].End.Sub(piece.start) <= b.need():
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
