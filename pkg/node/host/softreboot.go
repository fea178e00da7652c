package host

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// nextRoot is where a soft reboot finds another root file system to switch to
// (systemd-soft-reboot.service(8)).
const nextRoot = "/run/nextroot"

// managerTimeout is how long systemd may take to answer.
const managerTimeout = 30 * time.Second

// SoftReboots is what systemd knows of soft reboots.
type SoftReboots struct {
	// Count is how many there were in this boot.
	Count int32
	// Problem is why the node cannot be soft-rebooted. Empty: it can.
	Problem string
}

// SoftReboots asks systemd about soft reboots. One that does not count them, before 256,
// could not tell whether one has happened.
func (l Layout) SoftReboots(ctx context.Context, log *Log, run Runner) (SoftReboots, error) {
	ctx, cancel := context.WithTimeout(ctx, managerTimeout)
	defer cancel()
	text, err := run(ctx, log, "systemctl", "show", "--property=Version", "--property=SoftRebootsCount")
	if err != nil {
		return SoftReboots{}, fmt.Errorf("asking systemd for its soft reboots: %w", err)
	}
	values := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		values[name] = value
	}
	counted, known := values["SoftRebootsCount"]
	if !known {
		return SoftReboots{Problem: fmt.Sprintf("systemd is %s, and a soft reboot takes 256 or later", values["Version"])}, nil
	}
	count, err := strconv.ParseInt(counted, 10, 32)
	if err != nil {
		return SoftReboots{}, fmt.Errorf("systemd's SoftRebootsCount: %w", err)
	}
	answer := SoftReboots{Count: int32(count)}
	if entries, err := os.ReadDir(l.At(nextRoot)); err == nil && len(entries) > 0 {
		answer.Problem = nextRoot + " has another root file system, to which a soft reboot would switch"
	}
	return answer, nil
}

// BootName identifies what runs on a node since it last booted or was soft-rebooted.
func BootName(bootID string, softReboots int32) string {
	if softReboots == 0 {
		return bootID
	}
	return fmt.Sprintf("%s+%d", bootID, softReboots)
}
