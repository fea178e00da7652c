package cli

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

// zone returns the zone that --time-zone names; without a name, the machine's.
func zone(name string) (*time.Location, error) {
	if name == "" || name == "Local" {
		return time.Local, nil
	}
	in, err := schedule.Zone(name)
	if err != nil {
		hint := ""
		if near := schedule.NearestZone(name); near != "" {
			hint = fmt.Sprintf("; did you mean %s?", near)
		}
		return nil, fmt.Errorf("--time-zone=%s: must be an IANA name such as Europe/Berlin%s", name, hint)
	}
	return in, nil
}

// localForms are the forms of a time without a zone.
var localForms = []string{"2006-01-02 15:04", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02"}

// parseTime reads a TIME: RFC 3339, or what a clock in the zone shows. A time that
// a clock shows twice is the second of the two: so a freeze never ends too early.
func parseTime(flag, text string, in *time.Location) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, checkYear(flag, text, t)
	}
	for _, form := range localForms {
		t, err := time.ParseInLocation(form, text, in)
		if err != nil {
			continue
		}
		if t.Format(form) != text {
			return t, fmt.Errorf("--%s=%q: that time does not exist in %s (daylight saving time)", flag, text, in)
		}
		if again := afterFold(t); again.After(t) && again.Format(form) == text {
			t = again
		}
		return t, checkYear(flag, text, t)
	}
	return time.Time{}, fmt.Errorf("--%s=%q: must be a time such as 2026-12-24T18:00:00+01:00, or 2026-12-24 18:00 in --time-zone", flag, text)
}

// afterFold returns when the zone's clock shows the same as at t after the next change
// of its offset.
func afterFold(t time.Time) time.Time {
	_, end := t.ZoneBounds()
	if end.IsZero() {
		return t
	}
	_, now := t.Zone()
	_, then := end.Zone()
	return t.Add(time.Duration(now-then) * time.Second)
}

// checkYear refuses years that the API server does.
func checkYear(flag, text string, t time.Time) error {
	if year := t.UTC().Year(); year < 1970 || year > 2999 {
		return fmt.Errorf("--%s=%q: must be in the years 1970 to 2999", flag, text)
	}
	return nil
}

var days = regexp.MustCompile(`^(\d{1,6})d(.*)$`)

// parseDuration reads a DURATION: Go's, with days of 24 hours in front.
func parseDuration(flag, text string) (time.Duration, error) {
	var whole, rest time.Duration
	clock := text
	if m := days.FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1]) // at most six digits: the pattern says so
		if n > math.MaxInt64/int(24*time.Hour) {
			return 0, fmt.Errorf("--%s=%s: is too long", flag, text)
		}
		whole, clock = time.Duration(n)*24*time.Hour, m[2]
	}
	if clock != "" {
		var err error
		if rest, err = time.ParseDuration(clock); err != nil || whole > 0 && strings.HasPrefix(clock, "-") {
			return 0, fmt.Errorf("--%s=%s: must be a duration such as 90m, 4h or 14d12h", flag, text)
		}
	}
	switch total := whole + rest; {
	case whole > 0 && total < whole:
		return 0, fmt.Errorf("--%s=%s: is too long", flag, text)
	case total <= 0:
		return 0, fmt.Errorf("--%s=%s: must be positive, such as 4h", flag, text)
	default:
		return total, nil
	}
}
