package plan

import (
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

// maxOpenings is how many openings nextOpening examines.
const maxOpenings = 8

// tooShort returns the hold for nodes that need longer than the window stays open,
// until the next opening that is long enough. It is computed once for all nodes with
// the same need.
func (w *windows) tooShort(c *class, a *availability, need time.Duration) fleet.Hold {
	if hold, found := a.tooShort[need]; found {
		return hold
	}
	// The remaining time is left out: the message would change with every plan.
	message := fmt.Sprintf("a node is expected to need %s, longer than is left until %s", need, clock(*a.closes))
	until := w.nextOpening(c, *a.closes, need)
	if until == nil {
		message += "; none of the next openings is long enough"
	} else {
		message += "; the next opening that is long enough begins " + clock(*until)
	}
	hold := fleet.Hold{Reason: v1alpha1.ReasonInsufficientTime, Message: message, Until: until, Stays: until == nil}
	if a.tooShort == nil {
		a.tooShort = map[time.Duration]fleet.Hold{}
	}
	a.tooShort[need] = hold
	return hold
}

// nextOpening returns the start of the first opening from at on that lasts for need.
// Nil: none of the next few does.
func (w *windows) nextOpening(c *class, at time.Time, need time.Duration) *time.Time {
	for openings := 0; openings < maxOpenings; {
		hold, closes := w.evaluate(c, schedule.NewMoment(w.schedules, at))
		switch {
		case hold.Holds() && hold.Until == nil:
			return nil
		case hold.Holds():
			at = *hold.Until
		case closes == nil || closes.Sub(at) >= need:
			return &at
		default:
			at = *closes
			openings++
		}
	}
	return nil
}

// clock formats an instant for people, in UTC.
func clock(t time.Time) string {
	return t.UTC().Format("2006-01-02 15:04 MST")
}
