package kube

import (
	"net/http"
	"testing"
	"time"
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
		if got := c.Ahead(); max(got-test.want, test.want-got) > time.Second {
			t.Errorf("%s: got %s, want about %s", name, got, test.want)
		}
	}
}
