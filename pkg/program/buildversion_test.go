package program_test

import (
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/program"
)

func TestOr(t *testing.T) {
	if got := program.Version("v0.3.0"); got != "v0.3.0" {
		t.Errorf("the linker's word does not count: got %q", got)
	}
	if got := program.Version(""); got == "" {
		t.Error("without the linker's word it has none")
	}
}
