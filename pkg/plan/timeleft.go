package plan

import (
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

// maxOpenings is how many openings are looked at for one that is long enough.
const maxOpenings = 8

// grain is what an expected duration is rounded up to. The NodeUpgrade tells it
// to the agent, which compares with the very same figure; and it is not written
// anew for each second by which a measured time differs.
const grain = 10 * time.Second

// timeHold keeps a node back that is not expected to be done when the gate
// closes: nothing is started that cannot end in time. tooShort says the rest.
func (d *decider) timeHold(n *node) fleet.Hold {
	if d.gates.ask(n).fits(d.now, d.needs(n)) {
		return fleet.Hold{}
	}
	return fleet.Hold{Reason: v1alpha1.ReasonTimeLeft}
}

// needs is how long n is expected to take if it is let go now.
func (d *decider) needs(n *node) time.Duration {
	return d.expected(n, n.ControlPlane && d.pass1)
}

// upTo rounds up to the grain.
func upTo(took time.Duration) time.Duration {
	return (took + grain - 1).Truncate(grain)
}

// tooShort explains a timeHold.
func (d *decider) tooShort(n *node) fleet.Hold {
	return d.gates.tooShort(d.gates.ask(n), d.needs(n))
}

// fits is whether what begins at now and takes so long is over when the gate
// closes.
func (c *class) fits(now time.Time, need time.Duration) bool {
	return c.closes == nil || !now.Add(need).After(*c.closes)
}

// tooShort says why what takes so long does not begin any more, and until when
// that holds: the next opening that is long enough. It is found out once for
// all nodes that need as long.
func (g *gates) tooShort(c *class, need time.Duration) fleet.Hold {
	if hold, known := c.tooShort[need]; known {
		return hold
	}
	// Not how much is left: the words would change with each look.
	message := fmt.Sprintf("a node is expected to need %s, longer than is left until %s", need, clock(*c.closes))
	until := g.roomFor(c, need)
	if until == nil {
		message += "; no opening in sight is long enough"
	} else {
		// Whoever shows it puts how far away Until is behind the sentence.
		message += "; there is room again from " + clock(*until)
	}
	hold := fleet.Hold{Reason: v1alpha1.ReasonTimeLeft, Message: message, Until: until}
	if c.tooShort == nil {
		c.tooShort = map[time.Duration]fleet.Hold{}
	}
	c.tooShort[need] = hold
	return hold
}

// roomFor is the next opening, after the present one, that lasts that long. Nil:
// none of the next few does.
func (g *gates) roomFor(c *class, need time.Duration) *time.Time {
	at := c.closes
	for openings := 0; openings < maxOpenings; {
		hold, closes := g.gate(c, schedule.Look(g.schedules, *at), *at)
		switch {
		case hold.Reason != "" && hold.Until == nil:
			return nil
		case hold.Reason != "":
			at = hold.Until
		case closes == nil || closes.Sub(*at) >= need:
			return at
		default:
			at = closes
			openings++
		}
	}
	return nil
}
