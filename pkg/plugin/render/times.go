package render

import (
	"cmp"
	"regexp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// age returns how long ago t was, as kubectl writes it.
func (o Options) age(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return duration.HumanDuration(max(o.Now.Sub(*t), 0))
}

// when returns a time with its zone, and how far away it is.
func (o Options) when(t time.Time) string {
	text := t.In(o.Zone).Format("2006-01-02 15:04 MST")
	if ahead := t.Sub(o.Now); ahead > 0 {
		return text + " (in " + duration.HumanDuration(ahead) + ")"
	}
	return text
}

// short returns the time of day without its zone, and the day if that is not today.
func (o Options) short(t *time.Time) string {
	if t == nil {
		return "-"
	}
	at, today := t.In(o.Zone), o.Now.In(o.Zone)
	switch {
	case at.YearDay() == today.YearDay() && at.Year() == today.Year():
		return at.Format("15:04")
	case at.After(today) && at.Before(today.AddDate(0, 0, 6)):
		return at.Format("Mon 15:04")
	case at.Year() == today.Year():
		return at.Format("Jan 2 15:04")
	}
	return at.Format("2006-01-02 15:04")
}

// zoneName returns the abbreviation of the zone in which times are shown.
func (o Options) zoneName() string { return o.Now.In(o.Zone).Format("MST") }

// date matches a message that contains the time already.
var date = regexp.MustCompile(`\b\d{4}-\d\d-\d\d\b`)

// why returns the one sentence for a node that waits or failed. A code that the message
// repeats is left out. To a message that contains the time already it adds only how far
// away that is.
func (o Options) why(reason v1alpha1.Reason, message string, until *time.Time) string {
	if reason == v1alpha1.ReasonReleased || reason == v1alpha1.ReasonUpToDate && message != "" {
		reason = ""
	}
	text := strings.TrimSuffix(string(reason)+": "+message, ": ")
	text = strings.TrimPrefix(text, ": ")
	switch {
	case until == nil || until.Before(o.Now):
		return text
	case date.MatchString(message):
		return text + " (in " + duration.HumanDuration(until.Sub(o.Now)) + ")"
	}
	return strings.TrimPrefix(text+", until "+o.when(*until), ", ")
}

// orDash returns the text, or a dash for an empty one.
func orDash(text string) string {
	return cmp.Or(text, "-")
}
