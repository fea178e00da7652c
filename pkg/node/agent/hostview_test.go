package agent

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/pretend"
)

// TestFailedFactsAreGatheredAgain checks that facts which could not be gathered are gathered
// again soon, and that until then the host counts as unreachable despite older facts.
func TestFailedFactsAreGatheredAgain(t *testing.T) {
	h := pretend.NewHost()
	h.Takes = 0
	a := assemble(Config{Host: h, Log: slog.New(slog.DiscardHandler), Now: time.Now})
	now := time.Now()
	gather := func() error {
		t.Helper()
		err := a.host.gather(t.Context(), &round{Observation: machine.Observation{Now: now}}, "")
		h.AwaitEnd(t.Context(), verb.Facts)
		return err
	}
	for range 2 {
		if err := gather(); err != nil {
			t.Fatal(err)
		}
	}
	now = now.Add(factsAge)
	h.Fail[verb.Facts] = &verb.Result{Message: "the disk is full"}
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

// lastCounts counts how often the result of each verb is read.
type lastCounts struct {
	*pretend.Host
	of map[verb.Verb]int
}

func (h lastCounts) Last(ctx context.Context, v verb.Verb) (bool, *verb.Result, error) {
	h.of[v]++
	return h.Host.Last(ctx, v)
}

// TestResultsAreNotNewerThanFacts checks that a round reads the result of each verb that changes facts once, before it knows
// whether the facts are newer: a verb may end in between.
func TestResultsAreNotNewerThanFacts(t *testing.T) {
	h := lastCounts{pretend.NewHost(), map[verb.Verb]int{}}
	h.Takes, h.Facts.ControlPlane = 0, true
	a := assemble(Config{Host: h, Log: slog.New(slog.DiscardHandler), Now: time.Now})
	r := &round{}
	for i := 0; r.Host == nil; i++ {
		clear(h.of)
		r = &round{Observation: machine.Observation{Now: time.Now()}}
		if err := a.host.read(t.Context(), r); err != nil || i == 10 {
			t.Fatal(i, err)
		}
		h.AwaitEnd(t.Context(), verb.Facts)
	}
	for _, entry := range verb.Table {
		want := 0
		if entry.ChangesFacts || entry.ControlPlane || entry.Verb == verb.Facts {
			want = 1
		}
		if entry.Verb == verb.Uninstall {
			want++ // whether it runs is asked before all others
		}
		if h.of[entry.Verb] != want {
			t.Errorf("the result of %s was read %d times in a round, want %d", entry.Verb, h.of[entry.Verb], want)
		}
	}
}

// TestMaxAge checks that facts are gathered often only where a person may fix a problem. That
// Kubernetes comes from packages is none, and neither are definitions that nothing uses there.
func TestMaxAge(t *testing.T) {
	for name, test := range map[string]struct {
		facts verb.HostFacts
		want  time.Duration
	}{
		"nothing is wrong": {verb.HostFacts{}, factsAge},
		"a problem":        {verb.HostFacts{ConfProblem: "two files"}, factsAgeProblem},
		"armed":            {verb.HostFacts{Armed: true}, factsAgeProblem},
		"the guard":        {verb.HostFacts{Guarded: true}, factsAgeProblem},
		"a rehearsal":      {verb.HostFacts{Node: v1alpha1.NodeFacts{Rehearsals: []v1alpha1.Rehearsal{{Problems: make([]v1alpha1.RehearsalProblem, 1)}}}}, factsAgeProblem},
		"packages":         {verb.HostFacts{Unsupported: &v1alpha1.Problem{Reason: v1alpha1.NoSysextImage}, ConfProblem: "no file", Armed: true}, factsAge},
	} {
		view := hostView{facts: &test.facts}
		if got := view.maxAge(); got != test.want {
			t.Errorf("%s: got %s, want %s", name, got, test.want)
		}
	}
}
