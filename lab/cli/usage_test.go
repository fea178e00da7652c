package cli

import (
	"io"
	"strings"
	"testing"
)

func TestWrongArgumentsShowUsage(t *testing.T) {
	root := New()
	root.SetArgs([]string{"fault"})
	root.SetOut(io.Discard)
	root.SetErr(io.Discard)
	err := root.Execute()
	if err == nil || !strings.Contains(err.Error(), "lab fault ") {
		t.Errorf("`lab fault` without a kind: %v, want the usage", err)
	}
}
