package probe

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

var start = time.Date(2026, 11, 21, 1, 0, 0, 0, time.UTC)

// told makes answers from a line: one letter a second, x is a failure.
func told(line string) []Answer {
	var answers []Answer
	for i, letter := range line {
		a := Answer{Asked: start.Add(time.Duration(i) * time.Second)}
		a.Ended = a.Asked
		if letter == 'x' {
			a.Err = errors.New("no answer")
		}
		answers = append(answers, a)
	}
	return answers
}

func TestLongest(t *testing.T) {
	for line, want := range map[string]time.Duration{
		"":          0,
		"......":    0,
		"..x...":    time.Second,
		"xx.xxx..x": 3 * time.Second,
		"..xxxx":    3 * time.Second, // how long it still lasts is not known
	} {
		if got := Longest(told(line)).Length(); got != want {
			t.Errorf("%q: %s, want %s", line, got, want)
		}
	}
}

func TestFewest(t *testing.T) {
	for _, c := range []struct {
		a, b, c string
		want    int
	}{
		{"....", "....", "....", 3},
		{".x..", "..x.", "...x", 2}, // one after the other
		{".xx.", "..x.", "....", 1},
		{"xxxx", "xxxx", "xxxx", 0},
	} {
		if got, _ := Fewest(told(c.a), told(c.b), told(c.c)); got != c.want {
			t.Errorf("%q %q %q: %d, want %d", c.a, c.b, c.c, got, c.want)
		}
	}
}

func TestAProbeSeesAServerGoAndComeBack(t *testing.T) {
	var away atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if away.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	p := New("test", server.URL, &http.Transport{}, 5*time.Millisecond)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); p.Run(ctx) }()
	for _, state := range []bool{false, true, false} {
		away.Store(state)
		time.Sleep(200 * time.Millisecond)
	}
	stop()
	<-ended
	if got := Longest(p.Answers()).Length(); got < 100*time.Millisecond {
		t.Errorf("the longest gap is %s, want about 200ms", got)
	}
}
