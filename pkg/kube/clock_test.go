package kube

import (
	"net/http"
	"testing"
	"time"
	"unsafe"
)

// TestClock checks by how much a clock differs, for answers that take their time.
func TestClock(t *testing.T) {
	server := time.Date(2026, 11, 24, 23, 0, 0, 900_000_000, time.UTC)
	for name, test := range map[string]struct {
		ahead, took time.Duration
		date        string
		want        time.Duration
	}{
		"the same":                  {took: time.Millisecond},
		"29 s ahead":                {ahead: 29 * time.Second},
		"a minute ahead":            {ahead: time.Minute, took: 20 * time.Millisecond, want: time.Minute},
		"a minute behind":           {ahead: -time.Minute, took: 2 * time.Second, want: -time.Minute},
		"31 s, or not":              {ahead: 31 * time.Second, took: 4 * time.Second},
		"an answer after a minute":  {took: time.Minute},
		"a header that is no time":  {ahead: time.Hour, date: "now"},
		"a response without a Date": {ahead: time.Hour, date: "-"},
	} {
		now := server.Add(test.ahead - test.took/2)
		c := &Clock{now: func() time.Time { return now }}
		transport := c.Wrap(roundTripper(func(*http.Request) (*http.Response, error) {
			now = now.Add(test.took)
			header := http.Header{"Date": {server.Format(http.TimeFormat)}}
			switch test.date {
			case "-":
				header.Del("Date")
			case "":
			default:
				header.Set("Date", test.date)
			}
			return &http.Response{Header: header}, nil
		}))
		if _, err := transport.RoundTrip(&http.Request{}); err != nil { //nolint:bodyclose // it has none
			t.Fatal(err)
		}
		unsure := (test.took + time.Second) / 2
		if got := c.Ahead(); max(got-test.want, test.want-got) > unsure {
			t.Errorf("%s: got %s, want %s, or at most %s more or less", name, got, test.want, unsure)
		}
	}
}

// TestSteppedClock checks that a change of the wall clock counts before the API server answers again.
func TestSteppedClock(t *testing.T) {
	now := time.Now()
	c := NewClock(func() time.Time { return now })
	c.measure(now, now, now.UTC().Format(http.TimeFormat))
	want := time.Duration(0)
	for _, step := range []time.Duration{0, time.Hour, -time.Hour, -time.Minute} {
		now = setWall(t, now.Add(time.Minute), step)
		want += step
		if got := c.Ahead(); max(got-want, want-got) > time.Second {
			t.Errorf("set by %s: got %s, want about %s", step, got, want)
		}
	}
}

// setWall returns a time that differs only in its wall clock, as after a change of the machine's clock. Package
// time offers none: what changes both readings, or drops the monotonic one, is no step.
func setWall(t *testing.T, old time.Time, by time.Duration) time.Time {
	t.Helper()
	stepped := old
	*(*uint64)(unsafe.Pointer(&stepped)) += uint64(by/time.Second) << 30 // the wall clock's seconds, since Go 1.9
	if got := stepped.Round(0).Sub(old.Round(0)); got != by || stepped.Sub(old) != 0 {
		t.Fatalf("the wall clock was set by %s, and the monotonic clock by %s; want %s and 0s", got, stepped.Sub(old), by)
	}
	return stepped
}
