package sim

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestOldLists checks programs that start while an API server's cache lags: their first lists show what is
// stored, and so they neither empty an order that such a list would lack nor go by one of a deleted upgrade.
func TestOldLists(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*script)
		never  string // a regular expression that the story does not match
		want   string // in the story, or in the outcome
	}{
		"a coordinator starts while a node is at work": {
			func(s *script) {
				s.Reboot, s.Budget, s.Lag = true, 2, 5*time.Minute
				s.Faults = []fault{{Kind: "crash coordinator", Who: "coordinator", Step: v1alpha1.StepRebooting}}
			},
			`coordinator was killed(?s:.*) has release "" and slot ""(?s:.*)cp1 has booted`, "every node that needed a reboot has had one",
		},
		"an agent starts after the upgrade that its node had an order for was deleted": {
			func(s *script) {
				s.Workers, s.Restart, s.Lag, s.Broken = 0, true, 45*time.Second, map[string]string{"cp1": imageNotReady}
				s.Faults = []fault{
					{Kind: "recreate upgrade", Step: v1alpha1.StepRestarting, For: 2 * time.Second},
					{Kind: "crash agent", Who: "agent cp1", Step: v1alpha1.StepAborting, After: true},
				}
			},
			"BROKEN", "agent cp1 was killed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := plain()
			test.change(&s)
			result := simulate(t, s, true)
			if result.failure != "" || regexp.MustCompile(test.never).MatchString(result.story) || !strings.Contains(result.story+result.status, test.want) {
				t.Errorf("%s\nwant %q and no match of %q in\n%s\n%s", result.failure, test.want, test.never, result.story, result.status)
			}
		})
	}
}
