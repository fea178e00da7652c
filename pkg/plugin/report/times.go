package report

import (
	"fmt"
	"math"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// utc returns t as JSON shows it: in UTC, to the second.
func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	whole := t.UTC().Truncate(time.Second)
	return &whole
}

// instant returns t as JSON shows it.
func instant(t *metav1.Time) *time.Time {
	if t == nil || t.IsZero() {
		return nil
	}
	return utc(&t.Time)
}

// wholeSeconds returns d in seconds, rounded up.
func wholeSeconds(d time.Duration) int32 {
	return int32(min(max(math.Ceil(d.Seconds()), 0), math.MaxInt32))
}

// later and earlier return one of two instants.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// Length returns a duration with its two largest units.
func Length(d time.Duration) string {
	d = max(d, 0).Round(time.Second)
	days, hours, minutes, seconds := d/(24*time.Hour), d/time.Hour%24, d/time.Minute%60, d/time.Second%60
	switch {
	case days > 0 && hours > 0:
		return fmt.Sprintf("%d d %d h", days, hours)
	case days > 0:
		return fmt.Sprintf("%d d", days)
	case hours > 0 && minutes > 0:
		return fmt.Sprintf("%d h %d min", hours, minutes)
	case hours > 0:
		return fmt.Sprintf("%d h", hours)
	case minutes > 0 && seconds > 0:
		return fmt.Sprintf("%d min %d s", minutes, seconds)
	case minutes > 0:
		return fmt.Sprintf("%d min", minutes)
	}
	return fmt.Sprintf("%d s", seconds)
}
