package cli_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/cli"
)

// crash is a program with a fault in a goroutine that client-go starts.
func crash() {
	cli.CrashInOneLine(os.Stderr, "v1.2.3")
	var none map[string]int
	go wait.UntilWithContext(context.Background(), func(context.Context) { none["a"]++ }, time.Hour)
	time.Sleep(time.Minute)
}

// TestCrashOfAGoroutineIsOneLine runs that program: no stack reaches a person, and the exit code is
// not 2, which means that there is something to do.
func TestCrashOfAGoroutineIsOneLine(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "kubectl-upgrade-crash") // testscript.Main goes by the name
	if err := os.Symlink(self, link); err != nil {
		t.Fatal(err)
	}
	var errOut strings.Builder
	cmd := exec.CommandContext(t.Context(), link)
	cmd.Stderr = &errOut
	exit := (*exec.ExitError)(nil)
	want := regexp.MustCompile(`^error: this is a fault of kubectl upgrade v1\.2\.3, at crash_test\.go:\d+: assignment to entry in nil map; please report this line at https://\S+\n$`)
	if err := cmd.Run(); !errors.As(err, &exit) || exit.ExitCode() != 1 || !want.MatchString(errOut.String()) {
		t.Errorf("got %v and %q", err, errOut.String())
	}
}
