package agent

import (
	"log/slog"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/verb"
)

// TestFailedFactsAreGatheredAgain checks that facts which could not be gathered are gathered
// again soon, and that until then the host counts as unreachable despite older facts.
func TestFailedFactsAreGatheredAgain(t *testing.T) {
	h := newFakeHost()
	h.takes = 0
	a := &Agent{Config: Config{Host: h, Log: slog.New(slog.DiscardHandler), Now: time.Now}, startFailures: map[verb.Verb]startFailure{}}
	now := time.Now()
	gather := func() error {
		t.Helper()
		err := a.gather(t.Context(), now, "")
		h.awaitEnd(t, verb.Facts)
		return err
	}
	for range 2 {
		if err := gather(); err != nil {
			t.Fatal(err)
		}
	}
	now = now.Add(factsAge)
	h.fail[verb.Facts] = &host.Result{Message: "the disk is full"}
	if err := gather(); err != nil {
		t.Fatal(err)
	}
	if err := gather(); err == nil {
		t.Fatal("the failure is not reported")
	}
	now = now.Add(factsRetry)
	for range 2 {
		if err := gather(); err != nil {
			t.Errorf("%s after the failure: %v", factsRetry, err)
		}
	}
}
