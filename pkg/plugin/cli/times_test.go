package cli

import (
	"strings"
	"testing"
	"time"
)

func TestParseTime(t *testing.T) {
	berlin, err := zone("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"2026-12-24T18:00:00+01:00": "2026-12-24T17:00:00Z",
		"2026-12-24T18:00:00Z":      "2026-12-24T18:00:00Z",
		"2026-12-24 18:00":          "2026-12-24T17:00:00Z",
		"2026-12-24":                "2026-12-23T23:00:00Z",
		"2026-07-01 00:30:15":       "2026-06-30T22:30:15Z",
		"2026-10-25 02:30":          "2026-10-25T01:30:00Z", // the later of two
		"2026-03-29 02:30":          "that time does not exist",
		"0999-03-29 02:30":          "years 1970 to 2999",
		"3000-01-01T00:00:00Z":      "years 1970 to 2999",
		"tomorrow":                  "must be a time such as",
		"":                          "must be a time such as",
		"2026-13-01 00:00":          "must be a time such as",
	} {
		got, err := parseTime("until", text, berlin)
		switch {
		case err != nil && !strings.Contains(err.Error(), want):
			t.Errorf("%q: got error %v, want %s", text, err, want)
		case err == nil && got.UTC().Format(time.RFC3339) != want:
			t.Errorf("%q: got %s, want %s", text, got.UTC().Format(time.RFC3339), want)
		}
	}
	newYork, _ := time.LoadLocation("America/New_York")
	if got, err := parseTime("until", "2026-11-01 01:30", newYork); err != nil || got.UTC().Hour() != 6 {
		t.Errorf("when New York's clocks go back: got %s and error %v, want the later half past one", got.UTC(), err)
	}
	if _, err := zone("Berlin"); err == nil {
		t.Error("Berlin is accepted as a time zone")
	}
}

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]string{
		"90m": "1h30m0s", "2d": "48h0m0s", "1d12h30m": "36h30m0s", "0d1s": "1s",
		"0d": "must be positive", "-4h": "must be positive", "1d-1h": "must be a duration", "": "must be positive",
		"d": "must be a duration", "1w": "must be a duration", "1.5d": "must be a duration", "12h1d": "must be a duration",
		"999999d": "too long", "106751d2562047h": "too long",
	} {
		got, err := parseDuration("for", text)
		switch {
		case err != nil && !strings.Contains(err.Error(), want):
			t.Errorf("%q: got error %v, want %s", text, err, want)
		case err == nil && got.String() != want:
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}
