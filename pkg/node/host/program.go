package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// RunProgram runs one of systemd's programs and returns its standard output. What it prints as
// errors goes to log, and the last line of that is in the error.
func RunProgram(ctx context.Context, log *Log, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...) //nolint:gosec // constants, and no shell
	cmd.Env = append(os.Environ(), "LC_ALL=C", "SYSTEMD_COLORS=0", "SYSTEMD_URLIFY=0")
	cmd.Stderr = log
	out, err := cmd.Output()
	if err == nil {
		return string(out), nil
	}
	doing := program + " " + strings.Join(args, " ")
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return string(out), fmt.Errorf("%s failed (%w): %s", doing, err, LastLine(log.Tail()))
	}
	return string(out), fmt.Errorf("running %s: %w", doing, err)
}
