package plan

import "time"

// wakeTime is the first instant after now at which a decision may change by itself.
type wakeTime struct {
	now  time.Time
	next *time.Time
}

// at adds an instant at which a decision may change; nil is ignored.
func (w *wakeTime) at(t *time.Time) {
	if t != nil && t.After(w.now) && (w.next == nil || t.Before(*w.next)) {
		w.next = t
	}
}
