//go:build e2e

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestStepsOfAVirtualMachineGetThisMachinesTime(t *testing.T) {
	steps, page := filepath.Join(t.TempDir(), "steps"), filepath.Join(t.TempDir(), "page")
	if err := os.WriteFile(steps, []byte("- after 57s: ready: passed\n- after 1m0s: \nNAME STATUS\n- after 1m"), 0o644); err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := followSteps(ended, steps, page); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, got, _ := strings.Cut(string(text), "\n\n")
	want := "- after 0s here, 57s there: ready: passed\n- after 0s here, 1m0s there: \nNAME STATUS\n"
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
