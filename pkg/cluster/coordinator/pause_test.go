package coordinator

import (
	"testing"
	"time"
)

// TestRest checks that a coordinator rests longer than it plans, and yet not long.
func TestRest(t *testing.T) {
	var c Coordinator
	for took, want := range map[time.Duration]time.Duration{0: 0, time.Millisecond: 2 * time.Millisecond, time.Minute: longestRest} {
		c.restAfter(took)
		if got := time.Duration(c.rest.Load()); got != want {
			t.Errorf("after %s: got %s, want %s", took, got, want)
		}
	}
}
