package stall

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestRecorded has readings of a Watch on a real machine: 60 programs wanted its two CPUs; its
// disk was frozen for six seconds (fsfreeze); the Watch itself was stopped for four (SIGSTOP),
// and later starved.
func TestRecorded(t *testing.T) {
	for name, want := range map[string]string{
		"busy":    "",
		"frozen":  "the machine stood still from 05:22:31 to 05:22:38 (fsync 6.7 s)",
		"stopped": "the machine stood still from 05:22:51 to 05:22:58 (clock gap 5.8 s); the machine stood still from 05:23:05 to 05:23:08 (clock gap 2.0 s)",
	} {
		t.Run(name, func(t *testing.T) {
			readings := recorded(t, name)
			if len(readings) < 15 {
				t.Fatalf("%d readings", len(readings))
			}
			if got := Describe(Of(readings)); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func recorded(t *testing.T, name string) (readings []Reading) {
	t.Helper()
	file, err := os.Open("testdata/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for decoder := json.NewDecoder(file); decoder.More(); {
		var r Reading
		if err := decoder.Decode(&r); err != nil {
			t.Fatal(err)
		}
		readings = append(readings, r)
	}
	return readings
}

var zero = time.Date(2026, 11, 21, 1, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time { return zero.Add(time.Duration(seconds * float64(time.Second))) }

func TestOf(t *testing.T) {
	for name, test := range map[string]struct {
		readings []Reading
		want     string
	}{
		"readings that follow each other are one": {[]Reading{
			{From: at(0), To: at(1)}, {From: at(1), To: at(8), Fsync: 6200 * time.Millisecond, IO: 0.4}, {From: at(8), To: at(10), IO: 0.8125}, {From: at(10), To: at(11)},
		}, "the machine stood still from 01:00:01 to 01:00:10 (fsync 6.2 s, io pressure full 81 %)"},
		"not for long enough":   {[]Reading{{From: at(0), To: at(1.9), Late: 1400 * time.Millisecond}}, ""},
		"pressure for a moment": {[]Reading{{From: at(0), To: at(1), IO: 0.95}, {From: at(1), To: at(2)}, {From: at(2), To: at(3), IO: 0.95}}, ""},
		"no memory":             {[]Reading{{From: at(0), To: at(3), Memory: 0.9}}, "the machine stood still from 01:00:00 to 01:00:03 (memory pressure full 90 %)"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Describe(Of(test.readings)); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestBetween(t *testing.T) {
	stalls := []Stall{{Reading{From: at(10), To: at(23)}}, {Reading{From: at(40), To: at(42)}}}
	for _, test := range []struct {
		from, to float64
		want     time.Duration
	}{
		{0, 9, 0}, {0, 10, 13 * time.Second}, {15, 16, 13 * time.Second}, {23, 39, 13 * time.Second}, {24, 39, 0}, {20, 41, 15 * time.Second}, {43, 50, 0},
	} {
		if got := Length(Between(stalls, at(test.from), at(test.to))); got != test.want {
			t.Errorf("from %v to %v: %s, want %s", test.from, test.to, got, test.want)
		}
	}
}

func TestTold(t *testing.T) {
	stalls := []Stall{{Reading{From: at(10), To: at(23), Fsync: 6200 * time.Millisecond, IO: 0.8125}}}
	const plain, void = "the API did not answer", "void: the machine stood still from 01:00:10 to 01:00:23 (fsync 6.2 s, io pressure full 81 %); meanwhile: the API did not answer"
	for got, want := range map[string]string{
		Told(nil, plain): plain, Told(stalls, plain): void,
		"2m " + ToldLate(stalls, 2*time.Minute, plain): "2m " + void,
		"3m " + ToldLate(stalls, 3*time.Minute, plain): "3m " + plain,
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestStillStanding checks that a stall counts before it has ended.
func TestStillStanding(t *testing.T) {
	now := time.Now()
	for name, w := range map[string]*Watch{
		"the fsync has not returned": {from: now.Add(-6500 * time.Millisecond), fsyncs: now.Add(-6 * time.Second)},
		"the watch has not run":      {from: now.Add(-6500 * time.Millisecond)},
	} {
		if got := w.Stalls(); len(got) != 1 || got[0].Length() < 6*time.Second {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := (&Watch{from: now}).Stalls(); len(got) > 0 {
		t.Errorf("a watch that has just begun: %v", got)
	}
}

// TestWatch checks that a Watch reads.
func TestWatch(t *testing.T) {
	w, err := Start(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	read := func() []Reading { w.mu.Lock(); defer w.mu.Unlock(); return w.readings }
	for deadline := time.Now().Add(time.Minute); len(read()) < 2; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no readings within a minute")
		}
	}
	if first, second := read()[0], read()[1]; !first.To.Equal(second.From) || first.Fsync <= 0 {
		t.Errorf("readings %+v and %+v", first, second)
	}
}

func TestFullTotal(t *testing.T) {
	const file = `some avg10=0.85 avg60=1.28 avg300=1.17 total=19481885
full avg10=0.00 avg60=0.00 avg300=0.15 total=7792952
`
	if got, want := fullTotal(file), 7792952*time.Microsecond; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	io, memory := pressure{io: 9 * time.Second}.since(pressure{io: time.Second}, 10*time.Second)
	if diff := cmp.Diff([]float64{0.8, 0}, []float64{io, memory}); diff != "" {
		t.Errorf("pressure (-want +got):\n%s", diff)
	}
}
