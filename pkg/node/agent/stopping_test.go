package agent

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/pretend"
)

// stoppingHost answers as it is told whether it shuts down.
type stoppingHost struct {
	*pretend.Host
	asked    int
	stopping bool
	silent   error
}

func (h *stoppingHost) IsStopping(context.Context) (bool, error) {
	h.asked++
	return h.stopping, h.silent
}

// TestNoteStopping checks since when a host shuts down: since that was seen, also once its bus has stopped; and that a
// host is asked only in the step that waits for it.
func TestNoteStopping(t *testing.T) {
	host := &stoppingHost{}
	h := newHostSense(&Config{Host: host})
	begin := time.Date(2026, 11, 30, 1, 0, 0, 0, time.UTC)
	round := func(what string, step v1alpha1.Step, minute int, want time.Time) {
		t.Helper()
		r := &round{}
		r.state.Step, r.Now = step, begin.Add(time.Duration(minute)*time.Minute)
		h.noteStopping(t.Context(), r)
		if !r.StoppingSince.Equal(want) {
			t.Errorf("%s: since %s, want %s", what, r.StoppingSince, want)
		}
	}
	host.stopping = true
	round("another step", v1alpha1.StepDraining, 0, time.Time{})
	if host.asked != 0 {
		t.Error("the host was asked before")
	}
	host.stopping = false
	round("it does not", v1alpha1.StepRebooting, 1, time.Time{})
	host.silent = errors.New("no bus")
	round("its bus is silent", v1alpha1.StepRebooting, 2, time.Time{})
	host.stopping, host.silent = true, nil
	round("it does", v1alpha1.StepRebooting, 3, begin.Add(3*time.Minute))
	round("it still does", v1alpha1.StepRebooting, 9, begin.Add(3*time.Minute))
	host.silent = errors.New("no bus")
	round("its bus has stopped", v1alpha1.StepRebooting, 12, begin.Add(3*time.Minute))
	host.stopping, host.silent = false, nil
	round("it was cancelled", v1alpha1.StepRebooting, 13, time.Time{})
}
