package clusterstate_test

import (
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

func TestSlotIndex(t *testing.T) {
	for name, want := range map[string]int{"slot-0": 0, "slot-12": 12, "slot-": -1, "slot-01": -1, "slot--1": -1, "other": -1, "7": -1} {
		got, ok := clusterstate.SlotIndex(name)
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("%s: got %d %t, want %d", name, got, ok, want)
		}
	}
}
