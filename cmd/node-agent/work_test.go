package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// TestEveryVerbHasItsFunction checks that the two tables have the same verbs.
func TestEveryVerbHasItsFunction(t *testing.T) {
	for _, e := range verb.Table {
		if table[e.Verb].Run == nil {
			t.Errorf("verb %q has no function", e.Verb)
		}
	}
	if len(table) != len(verb.Table) {
		t.Errorf("%d verbs have a function, and %d are in verb.Table", len(table), len(verb.Table))
	}
}

// TestArguments checks that a verb has arguments on both sides or on none, and that a person
// may run it without a request.
func TestArguments(t *testing.T) {
	for _, e := range verb.Table {
		if e.Args == nil {
			continue
		}
		for raw, want := range map[string]string{
			"":      "there is no request with arguments",
			"\"x\"": "decoding the arguments: ",
		} {
			_, err := table[e.Verb].Run(t.Context(), host.Layout{Dir: t.TempDir()}, json.RawMessage(raw), host.NewLog(&bytes.Buffer{}))
			if err == nil || len(err.Error()) < len(want) || err.Error()[:len(want)] != want {
				t.Errorf("%s with %q: %v", e.Verb, raw, err)
			}
		}
	}
}
