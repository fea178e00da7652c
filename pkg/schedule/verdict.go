package schedule

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Verdict reports whether an upgrade may begin on a node, and why not.
type Verdict struct {
	// Open reports whether it may begin.
	Open bool
	// Reason is empty when open; else WindowClosed, Excluded or
	// ScheduleInvalid.
	Reason v1alpha1.Reason
	// Message is one sentence on that, with the time and its zone.
	Message string
	// Window is the window or exclusion that decided, as schedule/name.
	Window string
	// Until is when this verdict may change: an open window or an exclusion
	// ends, a closed one opens. Nil: not within the Horizon.
	Until *time.Time
}
