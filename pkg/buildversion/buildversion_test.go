package buildversion_test

import (
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/buildversion"
)

func TestOr(t *testing.T) {
	if got := buildversion.Or("v0.3.0"); got != "v0.3.0" {
		t.Errorf("the linker's word does not count: got %q", got)
	}
	if got := buildversion.Or(""); got == "" {
		t.Error("without the linker's word it has none")
	}
}
