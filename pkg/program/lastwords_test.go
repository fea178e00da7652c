package program

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestLeaveMessage checks that the last message replaces what the file has, and that a host, which has no such file,
// gets none.
func TestLeaveMessage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "termination-log")
	leaveMessage(file, "nobody reads this")
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file was made: %v", err)
	}
	if err := os.WriteFile(file, []byte("a message that is longer than the next one"), 0o600); err != nil {
		t.Fatal(err)
	}
	leaveMessage(file, "the certificate is empty")
	if got, err := os.ReadFile(file); err != nil || string(got) != "the certificate is empty\n" {
		t.Errorf("got %q, %v", got, err)
	}
}
