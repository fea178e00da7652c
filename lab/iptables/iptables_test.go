package iptables

import "testing"

func TestKind(t *testing.T) {
	for value, want := range map[string]string{"": "nft", "nft": "nft", "legacy": "legacy"} {
		t.Setenv(Variable, value)
		if got, err := Kind(); err != nil || got != want {
			t.Errorf("%q: got %q, %v; want %q", value, got, err, want)
		}
	}
	t.Setenv(Variable, "ebtables")
	if got, err := Kind(); err == nil {
		t.Errorf("got %q, want an error", got)
	}
}
