package fleet

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Hold is why a node may not continue: a code, a sentence, and when the hold ends, if that
// is known. The zero Hold is no hold.
type Hold struct {
	Reason  v1alpha1.Reason `json:"reason,omitempty"`
	Message string          `json:"message,omitempty"`
	Until   *time.Time      `json:"until,omitempty"`
	// Stays reports whether this hold lasts until a person acts, although its reason
	// usually passes by itself.
	Stays bool `json:"-"`
}

// Holds reports whether h has a reason.
func (h Hold) Holds() bool { return h.Reason != "" }

// NeedsPerson reports whether h lasts until a person acts.
func (h Hold) NeedsPerson() bool { return h.Stays || h.Reason.Info().NeedsPerson }

// Stalls reports whether h lasts until a person solves a problem. What people decided
// themselves, such as to approve first, is none: it must not raise an alarm.
func (h Hold) Stalls() bool { return h.NeedsPerson() && !h.Reason.Info().HeldByPeople }
