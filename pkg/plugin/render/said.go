package render

import (
	"regexp"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

// wallClock is how messages write an instant, before the name of its zone.
const wallClock = "2006-01-02 15:04"

var (
	// saidTime matches an instant in a message: in UTC as coordinator and agents write it, or in the
	// zone of a schedule. What is part of a path or a name is none.
	saidTime = regexp.MustCompile(`(^|[\s("])(\d{4}-\d\d-\d\d \d\d:\d\d) (UTC|[A-Z][A-Za-z]+(?:/[A-Za-z_+-]+)+)\b`)
	saidUTC  = regexp.MustCompile(`(^|[\s("])(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)([\s,;:)."]|$)`)
	// saidLength matches a duration as Go writes it.
	saidLength = regexp.MustCompile(`\b(?:\d+h)?\d+m\d+(?:\.\d+)?s\b`)
)

// Said returns a message of the cluster with its times in that zone, and its durations as length
// writes them: a screen has one zone and one style. A wall clock that shows a time twice is left
// as it is, with its zone.
func Said(message string, in *time.Location, length func(time.Duration) string) string {
	message = saidTime.ReplaceAllStringFunc(message, func(text string) string {
		m := saidTime.FindStringSubmatch(text)
		zone, err := schedule.Zone(m[3])
		if err != nil {
			return text
		}
		at, err := time.ParseInLocation(wallClock, m[2], zone)
		if err != nil || isFolded(at) {
			return text
		}
		return m[1] + at.In(in).Format(wallClock+" MST")
	})
	message = saidUTC.ReplaceAllStringFunc(message, func(text string) string {
		m := saidUTC.FindStringSubmatch(text)
		at, err := time.Parse(time.RFC3339, m[2])
		if err != nil {
			return text
		}
		return m[1] + at.In(in).Format(wallClock+" MST") + m[3]
	})
	return saidLength.ReplaceAllStringFunc(message, func(text string) string {
		d, err := time.ParseDuration(text)
		if err != nil {
			return text
		}
		return length(d)
	})
}

// isFolded reports whether the zone's clock shows that time twice.
func isFolded(at time.Time) bool {
	const longest = 2 * time.Hour // that a clock is set back
	for shift := -longest; shift <= longest; shift += 15 * time.Minute {
		if shift != 0 && at.Add(shift).Format(wallClock) == at.Format(wallClock) {
			return true
		}
	}
	return false
}

// said returns a message as this screen shows times and durations.
func (o Options) said(message string) string {
	return Said(message, o.Zone, duration.HumanDuration)
}
