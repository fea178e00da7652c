package scenario

import (
	"fmt"
	"strings"
	"time"
)

// OpenSchedule is a window that is always open.
const OpenSchedule = `
apiVersion: kubectl-upgrade.dev/v1alpha1
kind: MaintenanceSchedule
metadata: {name: lab}
spec:
  maintenanceWindows:
    - {name: always, startTime: "2020-01-01T00:00:00Z", endTime: "2020-01-02T00:00:00Z", recurrence: FREQ=DAILY}
`

// ClosedSchedule replaces OpenSchedule. Its window begins in six hours.
func ClosedSchedule(now time.Time) string {
	start := now.UTC().Add(6 * time.Hour).Truncate(time.Second)
	return fmt.Sprintf(`
apiVersion: kubectl-upgrade.dev/v1alpha1
kind: MaintenanceSchedule
metadata: {name: lab}
spec:
  maintenanceWindows:
    - {name: tonight, startTime: %q, endTime: %q}
`, start.Format(time.RFC3339), start.Add(time.Hour).Format(time.RFC3339))
}

// Freeze excludes everything for an hour from a minute ago.
func Freeze(now time.Time) string {
	start := now.UTC().Add(-time.Minute).Truncate(time.Second)
	return fmt.Sprintf(`
apiVersion: kubectl-upgrade.dev/v1alpha1
kind: MaintenanceSchedule
metadata: {name: freeze}
spec:
  maintenanceExclusions:
    - {name: freeze, startTime: %q, endTime: %q, comment: the lab is frozen}
`, start.Format(time.RFC3339), start.Add(time.Hour).Format(time.RFC3339))
}

// Span is from its start (in) to its end (out).
type Span struct{ Start, End time.Time }

// Windows returns a schedule with these spans as windows. It replaces OpenSchedule.
func Windows(spans ...Span) string {
	var windows strings.Builder
	for i, span := range spans {
		fmt.Fprintf(&windows, "    - {name: window-%d, startTime: %q, endTime: %q}\n", i+1, span.Start.UTC().Format(time.RFC3339), span.End.UTC().Format(time.RFC3339))
	}
	return `
apiVersion: kubectl-upgrade.dev/v1alpha1
kind: MaintenanceSchedule
metadata: {name: lab}
spec:
  maintenanceWindows:
` + windows.String()
}
