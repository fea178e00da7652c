package snapshot

import (
	"context"
	"errors"
	"testing"
)

// TestOnceList checks that a list is read once, and that of one with a missing page nothing is known.
func TestOnceList(t *testing.T) {
	var whole, partial onceList[int]
	reads := 0
	for range 2 {
		all, err := whole.get(t.Context(), func(context.Context) ([]int, error) { reads++; return []int{1, 2}, nil })
		if len(all) != 2 || err != nil || reads != 1 {
			t.Errorf("got %v, %v by %d reads, want two by one", all, err, reads)
		}
	}
	broken := errors.New("the second page is missing")
	all, err := partial.get(t.Context(), func(context.Context) ([]int, error) { return []int{1}, broken })
	if all != nil || !errors.Is(err, broken) {
		t.Errorf("got %v, %v, want nothing and %v", all, err, broken)
	}
}
