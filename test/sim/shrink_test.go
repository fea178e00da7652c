package sim

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// shrink returns a smaller script that breaks the same promise: fewer faults first, then a
// smaller cluster without special settings. It tries at most tries scripts.
func shrink(t *testing.T, s script, failure string, tries int) script {
	promise, _, _ := strings.Cut(failure, ":")
	fails := func(smaller script) bool {
		if tries--; tries < 0 {
			return false
		}
		got, _, _ := strings.Cut(simulate(t, smaller, false).failure, ":")
		return got == promise
	}
	for size := max(1, len(s.Faults)/2); ; size /= 2 {
		for at := 0; at < len(s.Faults); {
			smaller := s
			smaller.Faults = slices.Delete(slices.Clone(s.Faults), at, min(at+size, len(s.Faults)))
			if fails(smaller) {
				s = smaller
			} else {
				at += size
			}
		}
		if size <= 1 {
			break
		}
	}
	for _, simpler := range []func(*script){
		func(s *script) { s.NoNoise = true },
		func(s *script) { s.Broken = nil },
		func(s *script) { s.Packages = nil },
		func(s *script) { s.Unmanaged = nil },
		func(s *script) { s.Workers = 1 },
		func(s *script) { s.Workers-- },
		func(s *script) { s.Workers-- },
		func(s *script) { s.ControlPlanes = 1 },
		func(s *script) { s.Settle, s.MinReady = 0, 0 },
		func(s *script) { s.Groups = false },
		func(s *script) { s.Snapshot = false },
		func(s *script) { s.Opens = 0 },
		func(s *script) { s.Budget = 1 },
		func(s *script) { s.Pods = 0 },
	} {
		smaller := s
		smaller.Broken = maps.Clone(s.Broken)
		simpler(&smaller)
		smaller.Faults = slices.DeleteFunc(slices.Clone(s.Faults), func(f fault) bool { return smaller.problem(f) != "" }) // of nodes that are left out
		if smaller.Workers >= 0 && fails(smaller) {
			s = smaller
		}
	}
	return s
}
