package cli

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// TestFilesThatMayNotBeReplaced checks a file that is read-only, and one in a folder that is.
func TestFilesThatMayNotBeReplaced(t *testing.T) {
	// Root may do everything: another user reaches files in this thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if os.Getuid() == 0 {
		const nobody = 65534
		if err := syscall.Setfsuid(nobody); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = syscall.Setfsuid(0) }()
	}
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "report.md")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(file, []byte("what was there"), 0o400))
	p := newProgram(genericiooptions.NewTestIOStreamsDiscard(), "test")
	if err := p.writeFile(file, 0o644, []byte("new")); err == nil || err.Error() != "writing "+file+": permission denied" {
		t.Errorf("a read-only file: got %v", err)
	}
	must(os.Chmod(file, 0o600))
	must(os.Chmod(folder, 0o500))
	defer func() { _ = os.Chmod(folder, 0o700) }()
	if err := p.writeFile(file, 0o644, []byte("new")); err != nil {
		t.Errorf("a file in a read-only folder: %v", err)
	}
	if text, err := os.ReadFile(file); string(text) != "new" {
		t.Errorf("it has %q (%v)", text, err)
	}
	if err := p.writeFile(filepath.Join(folder, "other.md"), 0o644, []byte("new")); err == nil {
		t.Error("a new file in a read-only folder: got no error")
	}
}
