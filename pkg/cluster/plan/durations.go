package plan

import (
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// The durations that are assumed until enough nodes were measured. A real machine takes
// a few minutes to boot, and as long to evict its pods.
const (
	defaultStaging    = 2 * time.Minute
	defaultComponents = 3 * time.Minute
	defaultNode       = 5 * time.Minute
	defaultSoftReboot = 3 * time.Minute // no firmware, and no kernel
	defaultRestart    = time.Minute
)

// durations are how long each part is expected to take: the median of what this
// cluster's nodes took, so that one node that hung does not count. A pass lasts from
// taking the slot to freeing it, without settling and observing, whose lengths the pace
// sets.
type durations struct {
	found bool
	of    [parts]time.Duration
}

// newDurations returns the measured durations: from this upgrade's nodes; where these
// are too few, from earlier upgrades; where these are too few, the defaults.
func newDurations(own, before samples) durations {
	d := durations{found: true}
	find := func(p part, assumed time.Duration) {
		d.of[p] = median(own[p], median(before[p], assumed))
	}
	find(staging, defaultStaging)
	find(components, defaultComponents)
	find(restart, defaultRestart)
	find(softReboot, defaultSoftReboot)
	find(controlPlane, defaultNode)
	find(worker, d.of[controlPlane])
	find(controlPlane, d.of[worker])
	return d
}

// minSamples is how many measurements replace the default. With fewer, one first node
// that hung would keep all others out of every shorter window.
const minSamples = 3

func median(measured []time.Duration, assumed time.Duration) time.Duration {
	for len(measured) < minSamples {
		measured = append(measured, assumed)
	}
	slices.Sort(measured)
	return measured[len(measured)/2]
}

// medians returns how long nodes take, computed on first use.
func (c *cluster) medians() durations {
	if !c.durations.found {
		*c.durations = newDurations(measure(c.nodes), recordedSamples(c.Records, c.Nodes))
	}
	return *c.durations
}

// expected returns how long the node is expected to take for that part.
func (c *cluster) expected(n *node, p part) time.Duration {
	took := c.medians().of[p]
	if p != components {
		pace := &c.groups[n.group].pace
		took += seconds(pace.SettleSeconds) + seconds(pace.MinReadySeconds)
	}
	return (took + rounding - 1).Truncate(rounding)
}

// expectedDuration returns how long the node is expected to take if it is released now.
func (c *cluster) expectedDuration(n *node) time.Duration {
	return c.expected(n, n.nextPart(n.ControlPlane && c.pass1))
}

// nextPart returns the part that the node goes through when it is released.
func (n *node) nextPart(pass1 bool) part {
	switch {
	case pass1:
		return components
	case n.method == v1alpha1.MethodRestart:
		return restart
	case n.method == v1alpha1.MethodSoftReboot:
		return softReboot
	}
	return nodePart(n.ControlPlane)
}

// rounding is what an expected duration is rounded up to. The agent compares with the
// rounded value in its NodeUpgrade, which is not rewritten for each second by which a
// measurement differs.
const rounding = 10 * time.Second

// seconds returns a field of the API as a duration; zero where it is absent.
func seconds(n *int32) time.Duration {
	if n == nil {
		return 0
	}
	return time.Duration(*n) * time.Second
}
