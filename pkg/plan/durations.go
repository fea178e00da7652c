package plan

import (
	"slices"
	"time"
)

// What is assumed of a cluster on which few nodes have been through it yet. A
// real machine takes a few minutes to boot, and its pods as long to leave.
const (
	defaultStaging    = 2 * time.Minute
	defaultComponents = 3 * time.Minute
	defaultNode       = 5 * time.Minute
	defaultRestart    = time.Minute
)

// durations are how long a node's part is expected to take: the median of what
// this cluster's nodes took, so that one that hung does not count. A pass is
// from taking the slot to freeing it, without the time in which the node only has
// to stay quiet, which its pace says.
type durations struct {
	found        bool
	staging      time.Duration
	components   time.Duration // pass 1: kubeadm on a control plane
	controlPlane time.Duration // pass 2: a control-plane node
	worker       time.Duration // pass 2: any other one
	restart      time.Duration // pass 2 of a node that restarts: no drain, no boot
}

// newDurations returns them as measured: on this upgrade's own nodes; as long as
// these are too few, on those of the upgrades before; and as long as these are too
// few, as assumed.
func newDurations(own, before samples) durations {
	of := func(p part, assumed time.Duration) time.Duration {
		return median(own[p], median(before[p], assumed))
	}
	usual := of(worker, of(controlPlane, defaultNode))
	return durations{
		found:        true,
		staging:      of(staging, defaultStaging),
		components:   of(components, defaultComponents),
		controlPlane: of(controlPlane, usual),
		worker:       usual,
		restart:      of(restart, defaultRestart),
	}
}

// few is how many must have been measured before what was assumed does not
// count any more. A first node that hung would otherwise close every window that
// is shorter than that, to all others, too.
const few = 3

func median(measured []time.Duration, assumed time.Duration) time.Duration {
	for len(measured) < few {
		measured = append(measured, assumed)
	}
	slices.Sort(measured)
	return measured[len(measured)/2]
}

// usual returns how long nodes take. It is found out once, when it is needed first.
func (c *cluster) usual() durations {
	if !c.durations.found {
		*c.durations = newDurations(measure(c.nodes), c.remember())
	}
	return *c.durations
}

// expected returns how long the node is out of service once it has been let go, or,
// for components, how long kubeadm is at work on its control plane.
func (c *cluster) expected(n *node, components bool) time.Duration {
	usual, pace := c.usual(), c.groups[n.group].pace
	quiet := seconds(pace.SettleSeconds) + seconds(pace.MinReadySeconds)
	switch {
	case components:
		return upTo(usual.components)
	case c.target.restarts(n):
		return upTo(usual.restart + quiet)
	case n.ControlPlane:
		return upTo(usual.controlPlane + quiet)
	}
	return upTo(usual.worker + quiet)
}

// needs returns how long the node is expected to take if it is let go now.
func (c *cluster) needs(n *node) time.Duration {
	return c.expected(n, n.ControlPlane && c.pass1)
}

// grain is what an expected duration is rounded up to. The NodeUpgrade tells it
// to the agent, which compares with the very same figure; and it is not written
// anew for each second by which a measured time differs.
const grain = 10 * time.Second

// upTo rounds up to the grain.
func upTo(took time.Duration) time.Duration {
	return (took + grain - 1).Truncate(grain)
}

// seconds returns a field of the API as a duration; zero where it is absent.
func seconds(n *int32) time.Duration {
	if n == nil {
		return 0
	}
	return time.Duration(*n) * time.Second
}
