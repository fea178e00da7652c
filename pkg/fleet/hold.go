package fleet

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Hold is why a node may not go on: a code, a sentence, and until when if that
// is known. A Hold without a reason holds nothing.
type Hold struct {
	Reason  v1alpha1.Reason `json:"reason,omitempty"`
	Message string          `json:"message,omitempty"`
	Until   *time.Time      `json:"until,omitempty"`
	// Stays reports whether it lasts until a person acts, though its reason is one
	// that passes by itself elsewhere.
	Stays bool `json:"-"`
}

// Holds reports whether there is anything to hold for.
func (h Hold) Holds() bool { return h.Reason != "" }

// NeedsPerson reports whether it lasts until a person acts.
func (h Hold) NeedsPerson() bool { return h.Stays || h.Reason.Info().NeedsPerson }
