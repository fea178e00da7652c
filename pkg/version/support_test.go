package version_test

import (
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

func TestSupport(t *testing.T) {
	for _, row := range []struct {
		of, at string
		want   version.Support
		end    string
	}{
		{"v1.34.9", "2026-10-27T23:59:59Z", version.Supported, "2026-10-27"},
		{"v1.34.9", "2026-10-28T00:00:00Z", version.SupportEnded, "2026-10-27"},
		{"v1.37.0", "2026-11-21T00:00:00Z", version.Supported, "2027-10-28"},
		{"v1.30.14", "2020-01-01T00:00:00Z", version.SupportEnded, ""},
		{"v1.38.0", "2026-11-21T00:00:00Z", version.SupportIsUnknown, ""},
		{"v2.34.0", "2026-11-21T00:00:00Z", version.SupportIsUnknown, ""},
	} {
		at, err := time.Parse(time.RFC3339, row.at)
		if err != nil {
			t.Fatal(err)
		}
		got, end := parse(t, row.of).SupportOf(at)
		day := ""
		if !end.IsZero() {
			day = end.Format(time.DateOnly)
		}
		if got != row.want || day != row.end {
			t.Errorf("%s at %s: %s %q, want %s %q", row.of, row.at, got, day, row.want, row.end)
		}
	}
}
