package agent

import (
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// A status that another writer has put back is written again, once the watch has
// had time to show our own.
func TestOverwritten(t *testing.T) {
	at := time.Date(2026, 11, 22, 3, 55, 0, 0, time.UTC)
	w := written{at: at}
	w.status.Step = v1alpha1.StepIdle
	for _, row := range []struct {
		shown v1alpha1.Step
		after time.Duration
		want  bool
	}{
		{v1alpha1.StepIdle, time.Hour, false},
		{v1alpha1.StepUnlocking, time.Second, false},
		{v1alpha1.StepUnlocking, overwriteAfter, true},
	} {
		nu := &v1alpha1.NodeUpgrade{}
		nu.Status.Step = row.shown
		if got := w.overwritten(nu, at.Add(row.after)); got != row.want {
			t.Errorf("%s %s after: %v, want %v", row.shown, row.after, got, row.want)
		}
	}
}
