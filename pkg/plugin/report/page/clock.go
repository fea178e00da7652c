package page

import (
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/report"
)

// clock writes times in one zone.
type clock struct {
	zone *time.Location
	// abbreviate reports whether each time needs the zone's abbreviation, because its
	// offset changes within the report.
	abbreviate bool
	// sameYear reports whether the report is within one year, which is not repeated.
	sameYear bool
	now      time.Time
}

func newClock(zone *time.Location, start, end, now time.Time) clock {
	_, first := start.In(zone).Zone()
	_, last := end.In(zone).Zone()
	return clock{zone: zone, abbreviate: first != last, sameYear: start.In(zone).Year() == end.In(zone).Year(), now: now}
}

// full returns a time with its zone.
func (c clock) full(t time.Time) string { return t.In(c.zone).Format("2006-01-02 15:04:05 MST") }

// short returns a time for a table whose caption states the zone.
func (c clock) short(t time.Time) string { return c.format(t, "15:04") }

// exact is short with seconds.
func (c clock) exact(t time.Time) string { return c.format(t, "15:04:05") }

func (c clock) format(t time.Time, timeOfDay string) string {
	form := "2 Jan 2006 " + timeOfDay
	if c.sameYear {
		form = "2 Jan " + timeOfDay
	}
	if c.abbreviate {
		form += " MST"
	}
	return t.In(c.zone).Format(form)
}

// name returns the zone for people, such as "Europe/Berlin, CET (UTC+01:00)".
func (c clock) name() string {
	at := c.now.In(c.zone)
	name, offset := at.Format("MST"), at.Format("-07:00")
	if name == "UTC" {
		return "UTC"
	}
	text := fmt.Sprintf("%s (UTC%s)", name, offset)
	if zone := c.zone.String(); zone != "Local" && zone != name {
		text = zone + ", " + text
	}
	return text
}

// length returns a duration for people.
func length(d time.Duration) string { return report.Length(d) }

// seconds is length for a number of seconds.
func seconds(n int32) string { return length(time.Duration(n) * time.Second) }
