package clusterstate

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// FormatTime returns an instant as messages show it: in UTC, to the minute.
func FormatTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 MST") }

// Seconds returns the duration of a field ...Seconds of the API. Absent: 0.
func Seconds(n *int32) time.Duration { return time.Duration(ptr.Deref(n, 0)) * time.Second }

// Instant returns a time of the API as UTC gives it. Absent or zero: nil.
func Instant(t *metav1.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return UTC(&t.Time)
}

// UTC returns an instant in UTC, to the second, as output has it. Nil: nil.
func UTC(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	whole := t.UTC().Truncate(time.Second)
	return &whole
}
