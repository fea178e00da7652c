package migrate

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

func newKuredWindow(t testing.TB, days, start, end, zone string) KuredWindow {
	t.Helper()
	var w KuredWindow
	var err error
	if w.days, err = parseKuredDays(strings.Split(days, ",")); err != nil {
		t.Fatal(err)
	}
	if w.start, err = parseKuredTime(start); err != nil {
		t.Fatal(err)
	}
	if w.end, err = parseKuredTime(end); err != nil {
		t.Fatal(err)
	}
	if w.zone, err = schedule.Zone(zone); err != nil {
		t.Fatal(err)
	}
	return w
}

// TestKuredWindow checks single moments, also those that people do not expect.
func TestKuredWindow(t *testing.T) {
	for _, c := range []struct {
		days, start, end, zone string
		open, closed           []string // on the clock of the zone
	}{
		{"fri", "22:00", "06:00", "UTC",
			[]string{"2026-11-27 00:00:00", "2026-11-27 03:00:00", "2026-11-27 06:00:00", "2026-11-27 22:00:00", "2026-11-27 23:59:59"},
			[]string{"2026-11-27 06:00:01", "2026-11-27 21:59:59", "2026-11-28 00:00:00", "2026-11-28 03:00:00", "2026-11-26 23:00:00"}},
		{"mon,tue,wed,thu,fri", "9pm", "5am", "America/Los_Angeles",
			[]string{"2026-11-23 00:30:00", "2026-11-27 21:00:00", "2026-11-27 04:59:00"},
			[]string{"2026-11-28 00:30:00", "2026-11-29 22:00:00", "2026-11-23 12:00:00"}},
		{"0,6", "0:00", "23:59:59", "Asia/Tokyo",
			[]string{"2026-11-28 00:00:00", "2026-11-29 23:59:59"},
			[]string{"2026-11-27 23:59:59", "2026-11-30 00:00:00"}},
		{"su", "17", "17:00:00", "UTC", []string{"2026-11-29 17:00:00"}, []string{"2026-11-29 17:00:01", "2026-11-29 16:59:59"}},
		// The clock goes from 02:00 to 03:00: 02:30 becomes 03:30 (time.Date), and 03:30 is the last second of the window.
		{"su", "02:30", "03:30", "Europe/Berlin", []string{"2027-03-28 03:30:00"}, []string{"2027-03-28 03:29:59", "2027-03-28 03:00:00", "2027-03-28 03:30:01", "2027-03-28 01:59:00"}},
	} {
		w := newKuredWindow(t, c.days, c.start, c.end, c.zone)
		for want, times := range map[bool][]string{true: c.open, false: c.closed} {
			for _, text := range times {
				at, err := time.ParseInLocation(time.DateTime, text, w.zone)
				if err != nil {
					t.Fatal(err)
				}
				if got := w.Contains(at); got != want {
					t.Errorf("%s %s to %s at %s: open %v, want %v", c.days, c.start, c.end, text, got, want)
				}
			}
		}
	}
}

// restated is kured's documented rule in other words: today's name is one of the days, and the
// clock is not before the start and not after the end; or, where the start is later than the
// end, is one of these. It holds on days on which the clock does not change.
func restated(w KuredWindow, t time.Time) bool {
	wall := t.In(w.zone).Format("15:04:05")
	start := fmt.Sprintf("%02d:%02d:%02d", w.start.hour, w.start.minute, w.start.second)
	end := fmt.Sprintf("%02d:%02d:%02d", w.end.hour, w.end.minute, w.end.second)
	from, to := wall >= start, wall <= end
	return w.days[t.In(w.zone).Weekday()] && (from && to || start > end && (from || to))
}

// changes reports whether the zone's clock changes on the day of t, or in the night before or
// after it.
func changes(t time.Time, in *time.Location) bool {
	year, month, day := t.In(in).Date()
	_, before := time.Date(year, month, day-1, 0, 0, 0, 0, in).Zone()
	_, after := time.Date(year, month, day+2, 0, 0, 0, 0, in).Zone()
	return before != after
}

func randomWindow(t testing.TB, r *rand.Rand) KuredWindow {
	t.Helper()
	zones := []string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Africa/Cairo", "America/Santiago", "America/Havana", "Asia/Beirut"}
	in, err := schedule.Zone(zones[r.IntN(len(zones))])
	if err != nil {
		t.Fatal(err)
	}
	w := KuredWindow{zone: in, start: clock{r.IntN(24), 15 * r.IntN(4), 0}, end: clock{r.IntN(24), 15 * r.IntN(4), 0}}
	if r.IntN(4) == 0 {
		w.end = clock{23, 59, 59}
	}
	if r.IntN(4) == 0 {
		w.start = clock{}
	}
	for i := range w.days {
		w.days[i] = r.IntN(3) > 0
	}
	return w
}

// TestKuredWindowAgreesWithItself compares Contains with the rule in other words, and with Openings, at many
// moments of two years.
func TestKuredWindowAgreesWithItself(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	until := from.AddDate(1, 1, 0)
	compared := 0
	for range 30 {
		w := randomWindow(t, r)
		spans := w.Openings(from, until)
		i := 0
		for at := from; at.Before(until); at = at.Add(5 * time.Minute) {
			for i < len(spans) && !at.Before(spans[i].End) {
				i++
			}
			open := i < len(spans) && !at.Before(spans[i].Start)
			if got := w.Contains(at); got != open {
				t.Fatalf("%+v at %s: Contains %v, Openings %v", w, at.In(w.zone), got, open)
			}
			if want := restated(w, at); open != want && !changes(at, w.zone) {
				t.Fatalf("%+v at %s: open %v, want %v", w, at.In(w.zone), open, want)
			}
			if open {
				compared++
			}
		}
	}
	if compared < 100000 {
		t.Errorf("only %d moments were in a window", compared)
	}
}

// TestScheduleOpensWithKured checks that the schedule is open when kured's window is, but for nights
// in which the clock changes. Both ways: with Whole, windows over midnight differ.
func TestScheduleOpensWithKured(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 60 {
		w := randomWindow(t, r)
		if w.never() {
			continue
		}
		k := &kured{Kured: Kured{Now: now}}
		s := newSchedule("kured", w.zone, k.windows(w)...)
		if err := schedule.Check(s); err != nil {
			t.Fatalf("%+v: %v", w, err)
		}
		from := now.AddDate(0, 0, 8) // its first days may be before those of kured's
		until := from.AddDate(0, 8, 0)
		openings, err := schedule.Next([]v1alpha1.MaintenanceSchedule{*s}, nil, "", from, 400)
		if err != nil {
			t.Fatal(err)
		}
		var ours []Span
		for _, o := range openings {
			end := o.End
			if end.IsZero() {
				end = until
			}
			ours = append(ours, Span{o.Start, end})
		}
		for _, p := range Compare(w.Openings(from, until), join(ours, from, until)) {
			at := p.around()
			if p.Differs() && !changes(at.Start, w.zone) && !changes(at.End, w.zone) {
				t.Fatalf("%v %s to %s in %s: kured %v, schedule %v", w.days, w.start, w.end, w.zone, p.Theirs, p.Ours)
			}
		}
	}
}

func TestKuredTimesThatKuredRefuses(t *testing.T) {
	for _, value := range []string{"5:00pm", "25:00", "24:00", "noon", "", "9AM", "17.00"} {
		if got, err := parseKuredTime(value); err == nil {
			t.Errorf("%q: got %v", value, got)
		}
	}
	for value, want := range map[string]clock{"9am": {9, 0, 0}, "12am": {}, "12pm": {12, 0, 0}, "05:00pm": {17, 0, 0}, "5": {5, 0, 0}, "17:05:06": {17, 5, 6}, "00:01am": {0, 1, 0}} {
		if got, err := parseKuredTime(value); err != nil || got != want {
			t.Errorf("%q: got %v, %v", value, got, err)
		}
	}
	for _, days := range []string{"7", "-1", "fridayyy", "fri;sat"} {
		if _, err := parseKuredDays(strings.Split(days, ",")); err == nil {
			t.Errorf("%q is accepted", days)
		}
	}
}
