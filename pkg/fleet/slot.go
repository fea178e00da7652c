package fleet

import (
	"strconv"
	"strings"
)

// ControlPlaneSlot is the only slot that control-plane nodes use. So its Lease ensures that
// two of them are never out of service at once, for any budget and any number of
// coordinators.
const ControlPlaneSlot = "slot-0"

// SlotName returns the name of the slot with that index, from 0.
func SlotName(i int) string { return "slot-" + strconv.Itoa(i) }

// SlotIndex returns the index in a slot's name, and false if it is not the name of a slot.
func SlotIndex(name string) (int, bool) {
	i, err := strconv.Atoi(strings.TrimPrefix(name, "slot-"))
	return i, err == nil && i >= 0 && name == SlotName(i)
}

// Slot is one Lease that lets a node be out of service. The zero Owner means
// that the slot is not reserved, or not held.
type Slot struct {
	Name        string `json:"name"`
	ReservedFor Owner  `json:"reservedFor,omitzero"`
	Holder      Owner  `json:"holder,omitzero"`
	// Unreadable reports whether the Lease's owner cannot be parsed: the slot counts as
	// taken.
	Unreadable bool `json:"unreadable,omitempty"`
	// Unlabelled reports whether the Lease lacks the label by which agents find slots.
	Unlabelled bool `json:"unlabelled,omitempty"`
}

// Free reports whether the slot is neither reserved nor held.
func (s Slot) Free() bool {
	return !s.Unreadable && s.ReservedFor == Owner{} && s.Holder == Owner{}
}
