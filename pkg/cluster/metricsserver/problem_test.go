package metricsserver

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestProblem checks that a port which another program has is a problem once it lasts, and none any more when it is free, or
// when another replica serves.
func TestProblem(t *testing.T) {
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Config{Address: other.Addr().String(), Metrics: http.NotFoundHandler(), Review: &Reviewer{}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); s.Run(ctx) }()
	defer func() { cancel(); <-done }()
	await := func(what string, ok func() bool) {
		t.Helper()
		for began := time.Now(); !ok(); time.Sleep(10 * time.Millisecond) {
			if time.Since(began) > time.Minute {
				t.Fatalf("not within a minute: %s", what)
			}
		}
	}
	await("it fails", func() bool { return s.failing.Load() != nil })
	if problem, known := s.Problem(); problem != "" || known {
		t.Errorf("at once: %q %t", problem, known)
	}
	lasts := func() { s.failing.Store(&failure{s.failing.Load().text, time.Now().Add(-2 * lastingAfter)}) }
	lasts()
	if problem, known := s.Problem(); !strings.Contains(problem, "address already in use") || !known {
		t.Errorf("after a while: %q %t", problem, known)
	}
	s.Listen(false)
	if problem, known := s.Problem(); problem != "" || known {
		t.Errorf("while another replica serves: %q %t", problem, known)
	}
	s.Listen(true)
	await("it fails again", func() bool { return s.failing.Load() != nil })
	lasts()
	_ = other.Close()
	await("it serves", func() bool {
		problem, known := s.Problem()
		return problem == "" && known
	})
}
