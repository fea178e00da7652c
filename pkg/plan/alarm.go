package plan

import "time"

// alarm is the first instant after now at which an answer may change by itself.
type alarm struct {
	now  time.Time
	next *time.Time
}

// at notes an instant at which an answer may change. Nil: it does not.
func (a *alarm) at(t *time.Time) {
	if t != nil && t.After(a.now) && (a.next == nil || t.Before(*a.next)) {
		a.next = t
	}
}
