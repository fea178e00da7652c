package main

import (
	"runtime/debug"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestUnique checks that a module is listed with each version that a program was built from, and one that is replaced by
// what replaces it; our own have the release's version.
func TestUnique(t *testing.T) {
	var got []string
	for _, m := range unique([]*debug.Module{
		{Path: "b", Version: "v1.0.0"}, {Path: "a", Version: "v1.1.0"}, {Path: "a", Version: "v1.0.0"},
		{Path: "a", Version: "v1.1.0"}, {Path: "c", Version: "v1.0.0", Replace: &debug.Module{Path: "b", Version: "v1.0.0"}},
		{Path: "d", Version: "v0.0.0", Replace: &debug.Module{Path: "./pkg/d", Version: "(devel)"}},
	}, "v2.0.0") {
		got = append(got, m.Path+"@"+m.Version)
	}
	if diff := cmp.Diff([]string{"a@v1.0.0", "a@v1.1.0", "b@v1.0.0", "d@v2.0.0"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
