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

// durations are how long each part is expected to take: the median of what this
// cluster's nodes took, so that one that hung does not count. A pass is from taking
// the slot to freeing it, without the time in which the node only has to stay quiet,
// which its pace says.
type durations struct {
	found bool
	of    [parts]time.Duration
}

// newDurations returns them as measured: on this upgrade's own nodes; as long as
// these are too few, on those of the upgrades before; and as long as these are too
// few, as assumed.
func newDurations(own, before samples) durations {
	d := durations{found: true}
	find := func(p part, assumed time.Duration) {
		d.of[p] = median(own[p], median(before[p], assumed))
	}
	find(staging, defaultStaging)
	find(components, defaultComponents)
	find(restart, defaultRestart)
	find(controlPlane, defaultNode)
	find(worker, d.of[controlPlane])
	find(controlPlane, d.of[worker])
	return d
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

// expected returns how long the node is expected to take for that part.
func (c *cluster) expected(n *node, p part) time.Duration {
	took := c.usual().of[p]
	if p != components {
		pace := &c.groups[n.group].pace
		took += seconds(pace.SettleSeconds) + seconds(pace.MinReadySeconds)
	}
	return (took + grain - 1).Truncate(grain)
}

// needs returns how long the node is expected to take if it is let go now.
func (c *cluster) needs(n *node) time.Duration {
	return c.expected(n, n.nextPart(n.ControlPlane && c.pass1))
}

// nextPart returns the part that the node goes through when it is let go.
func (n *node) nextPart(pass1 bool) part {
	switch {
	case pass1:
		return components
	case n.restarts:
		return restart
	}
	return nodePart(n.ControlPlane)
}

// grain is what an expected duration is rounded up to. The NodeUpgrade tells it
// to the agent, which compares with the very same figure; and it is not written
// anew for each second by which a measured time differs.
const grain = 10 * time.Second

// seconds returns a field of the API as a duration; zero where it is absent.
func seconds(n *int32) time.Duration {
	if n == nil {
		return 0
	}
	return time.Duration(*n) * time.Second
}
