//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"testing"
)

// TestChoice needs no cluster: it checks that the same seed gives the same rounds, that w1
// reaches the step of each, and that every fault is chosen at some time.
func TestChoice(t *testing.T) {
	chosen := map[string]bool{}
	for seed := range uint64(200) {
		one, two, disturbed := newChoice(seed), newChoice(seed), 0
		for i := range 40 {
			r, again := one.next(), two.next()
			if r.title() != again.title() {
				t.Fatalf("seed %d: got %s and %s", seed, r.title(), again.title())
			}
			if !r.reaches(r.step) || !slices.Contains(r.fault.at, r.step) {
				t.Errorf("seed %d: w1 does not reach the step: %s", seed, r.title())
			}
			if wantPatch := i%2 == 1 && i < 2*len(soakPatches()); wantPatch != (r.soaks != nil) {
				t.Errorf("round %d: got %s", i, r.title())
			}
			if r.name != noFault.name {
				disturbed++
				chosen[fmt.Sprint(r.soaks != nil, r.name)] = true
			}
		}
		if disturbed < 8 || disturbed > 32 {
			t.Errorf("seed %d: %d of 40 rounds have a fault", seed, disturbed)
		}
	}
	for _, f := range faults {
		if !f.stages && !chosen[fmt.Sprint(false, f.name)] {
			t.Errorf("%s was never chosen", f.name)
		}
	}
	t.Logf("%d kinds of disturbed rounds", len(chosen))
}
