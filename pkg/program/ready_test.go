package program

import (
	"path/filepath"
	"testing"
)

func TestReady(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "program")
	for range 2 { // the second container of a pod does not begin as ready
		r, err := NewReady(dir)
		if err != nil {
			t.Fatal(err)
		}
		command := NewReadyCommand(dir, "program")
		command.SetArgs(nil)
		command.SilenceErrors, command.SilenceUsage = true, true
		if err := command.Execute(); err == nil {
			t.Error("it is ready before it said so")
		}
		if err := r.Set(); err != nil {
			t.Fatal(err)
		}
		if err := command.Execute(); err != nil {
			t.Error(err)
		}
	}
}
