package render

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// age is how long ago t was, as kubectl writes it.
func (o Options) age(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return duration.HumanDuration(max(o.Now.Sub(*t), 0))
}

// when is a time with its zone, and how far away it is.
func (o Options) when(t time.Time) string {
	text := t.In(o.Zone).Format("2006-01-02 15:04 MST")
	if ahead := t.Sub(o.Now); ahead > 0 {
		return text + " (in " + duration.HumanDuration(ahead) + ")"
	}
	return text
}

// why is the one sentence for whoever waits or failed.
func (o Options) why(reason v1alpha1.Reason, message string, until *time.Time) string {
	parts := make([]string, 0, 3)
	if reason != "" {
		parts = append(parts, string(reason))
	}
	if message != "" {
		parts = append(parts, message)
	}
	text := strings.Join(parts, ": ")
	if until == nil || until.Before(o.Now) {
		return text
	}
	if text == "" {
		return "until " + o.when(*until)
	}
	return text + ", until " + o.when(*until)
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
