package host

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
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
	// Problem is why the node cannot be soft-rebooted. Nil: it can.
	Problem *v1alpha1.Problem
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
		message := fmt.Sprintf("systemd is %s, and a soft reboot takes 256 or later", values["Version"])
		return SoftReboots{Problem: &v1alpha1.Problem{Reason: v1alpha1.SystemdTooOld, Message: message}}, nil
	}
	count, err := strconv.ParseInt(counted, 10, 32)
	if err != nil {
		return SoftReboots{}, fmt.Errorf("systemd's SoftRebootsCount: %w", err)
	}
	answer := SoftReboots{Count: int32(count)}
	if entries, err := os.ReadDir(l.At(nextRoot)); err == nil && len(entries) > 0 {
		message := nextRoot + " has another root file system, to which a soft reboot would switch"
		answer.Problem = &v1alpha1.Problem{Reason: v1alpha1.OtherRootStaged, Message: message}
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

// HasDefaultRoute reports whether the node has a default route (proc(5), net/route;
// the kernel's ipv6_route). Rejecting routes, which IPv6 always has, do not count.
func (l Layout) HasDefaultRoute() bool {
	const rejecting = "lo" // such routes are on the loopback device
	for _, r := range l.routes("/proc/net/route") {
		if len(r) >= 8 && r[1] == "00000000" && r[7] == "00000000" {
			return true
		}
	}
	for _, r := range l.routes("/proc/net/ipv6_route") {
		if len(r) == 10 && strings.Trim(r[0]+r[1], "0") == "" && r[9] != rejecting {
			return true
		}
	}
	return false
}

func (l Layout) routes(file string) [][]string {
	text, err := os.ReadFile(l.At(file))
	if err != nil {
		return nil
	}
	var routes [][]string
	for line := range strings.Lines(string(text)) {
		routes = append(routes, strings.Fields(line))
	}
	return routes
}
