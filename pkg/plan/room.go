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

// tooShort says why what takes so long does not begin any more, and until when
// that holds: the next opening that is long enough. It is found out once for
// all nodes that need as long.
func (w *windows) tooShort(c *class, a *answer, need time.Duration) fleet.Hold {
	if hold, found := a.tooShort[need]; found {
		return hold
	}
	// Not how much is left: the sentence would change with each look.
	message := fmt.Sprintf("a node is expected to need %s, longer than is left until %s", need, clock(*a.closes))
	until := w.roomFor(c, *a.closes, need)
	if until == nil {
		message += "; no opening in sight is long enough"
	} else {
		message += "; there is room again from " + clock(*until)
	}
	hold := fleet.Hold{Reason: v1alpha1.ReasonInsufficientTime, Message: message, Until: until, Stays: until == nil}
	if a.tooShort == nil {
		a.tooShort = map[time.Duration]fleet.Hold{}
	}
	a.tooShort[need] = hold
	return hold
}

// roomFor returns the next opening from that instant on that lasts so long. Nil:
// none of the next few does.
func (w *windows) roomFor(c *class, at time.Time, need time.Duration) *time.Time {
	for openings := 0; openings < maxOpenings; {
		hold, closes := w.look(c, schedule.Look(w.schedules, at))
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

// clock writes an instant for people, where no schedule's zone is at hand.
func clock(t time.Time) string {
	return t.UTC().Format("2006-01-02 15:04 MST")
}
