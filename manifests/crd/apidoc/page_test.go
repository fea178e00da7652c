package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPageIsCurrent(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	want, err := generate(root)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(root, "docs", "api.md"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("docs/api.md is stale; `make generate` writes it (-want +got):\n%s", diff)
	}
}

// TestRefusedValuesAreNotListed checks that the page does not list values of a type that a rule
// of the field refuses.
func TestRefusedValuesAreNotListed(t *testing.T) {
	types := schema{Type: "string", Enum: []string{"Patch", "Minor", "Reboot"}}
	rules := []rule{{"self.type != 'Minor'"}, {"self.other != 'Patch'"}, {"self.type == 'Reboot'"}}
	for want, field := range map[string]schema{
		"Patch, Minor, Reboot":         without(types, "kind", rules),
		"Patch, Reboot":                without(types, "type", rules),
		"list of Patch, Minor, Reboot": {Type: "array", Items: &types},
	} {
		if got := kind(field, false); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestUnknownPathIsAnError(t *testing.T) {
	w := writer{root: filepath.Join("..", "..", ".."), seen: map[string]string{}, said: map[string]string{}}
	if _, err := w.fields("nodeupgrades", "spec.nonsense"); err == nil {
		t.Error("got no error for a field that does not exist")
	}
}
