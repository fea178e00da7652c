//go:build e2e

package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/soak"
)

// TestFigures needs no cluster: it checks that processes are compared with those that can be
// compared, and that what grows is reported.
func TestFigures(t *testing.T) {
	level := soak.Usage{Memory: 50 << 10, Goroutines: 60, Files: 11}
	for name, test := range map[string]struct {
		usage func(round, pid int) soak.Usage
		want  []string
	}{
		"level": {func(int, int) soak.Usage { return level }, nil},
		"a leak in a process that lives": {func(round, pid int) soak.Usage {
			u := level
			if pid == 1 {
				u.Memory += round << 12
				u.Goroutines += 2 * round
				u.Files += round
			}
			return u
		}, []string{"w3's agent: memory", "w3's agent: goroutines", "w3's agent: open files"}},
		"each process begins with more": {func(round, pid int) soak.Usage {
			u := level
			if pid != 1 {
				u.Memory += round << 12
			}
			return u
		}, []string{"w1's agent, soon after each start: memory"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &soakRun{}
			for round := range 20 {
				restarted := 100 + round // w1 reboots in each round
				s.samples = append(s.samples, sample{at: time.Duration(round) * time.Minute, processes: []processSample{
					{"w3's agent", soak.Process{PID: 1}, test.usage(round, 1)},
					{"w1's agent", soak.Process{PID: restarted}, test.usage(round, restarted)},
				}, cluster: map[string]float64{snapshots: 3, "NodeUpgrades": 4}})
			}
			var got []string
			for _, f := range s.figures() {
				if wrong := f.tooLarge(); wrong != "" {
					got = append(got, wrong)
				}
			}
			if !slices.EqualFunc(got, test.want, strings.HasPrefix) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			t.Log("\n" + figureRows(s.figures()))
		})
	}
}
