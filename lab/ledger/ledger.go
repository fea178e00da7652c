// Package ledger writes numbers into an etcd that runs as a workload of the cluster, one
// after the other, and checks that each number that etcd acknowledged is still there.
package ledger

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// Writer writes numbers until its context ends.
type Writer struct {
	store store
	every time.Duration

	mu           sync.Mutex
	acknowledged int
	attempts     int
	last         time.Time
	gap          time.Duration
}

// Report counts what a Writer did.
type Report struct {
	// Acknowledged is how many numbers etcd acknowledged: 0 to Acknowledged-1.
	Acknowledged int
	// Repeated is how many attempts were not acknowledged, and made again.
	Repeated int
	// Gap is the longest time between two acknowledgements.
	Gap time.Duration
}

// New returns a writer that writes a number at each interval. url is that of etcd's client
// port, and the transport says how connections are made.
func New(url string, transport *http.Transport, every time.Duration) *Writer {
	transport.DisableKeepAlives = true
	return &Writer{store: store{url: url, client: &http.Client{Timeout: 5 * time.Second, Transport: transport}}, every: every}
}

// Run writes until ctx ends. A number that is not acknowledged is written again, so the
// numbers have no gap.
func (w *Writer) Run(ctx context.Context) {
	tick := time.NewTicker(w.every)
	defer tick.Stop()
	for n := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := w.store.put(ctx, key(n), value(n)); w.count(err) {
				n++
			}
		}
	}
}

// count counts an attempt, and reports whether it was acknowledged.
func (w *Writer) count(err error) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.attempts++
	if err != nil {
		return false
	}
	now := time.Now()
	if !w.last.IsZero() {
		w.gap = max(w.gap, now.Sub(w.last))
	}
	w.acknowledged, w.last = w.acknowledged+1, now
	return true
}

// Report returns the counts so far.
func (w *Writer) Report() Report {
	w.mu.Lock()
	defer w.mu.Unlock()
	return Report{Acknowledged: w.acknowledged, Repeated: w.attempts - w.acknowledged, Gap: w.gap}
}

// Check reads all numbers, and returns an error that names the first acknowledged number
// that is missing or has another value.
func (w *Writer) Check(ctx context.Context) error {
	written := w.Report().Acknowledged // before the read: what is written meanwhile may be missing in it
	stored, err := w.store.all(ctx)
	if err != nil {
		return err
	}
	for n := range written {
		if got, there := stored[key(n)]; !there {
			return fmt.Errorf("number %d of %d was acknowledged, and is lost", n, written)
		} else if got != value(n) {
			return fmt.Errorf("number %d of %d has the value %q, want %q", n, written, got, value(n))
		}
	}
	return nil
}

func key(n int) string   { return fmt.Sprintf("number/%09d", n) }
func value(n int) string { return fmt.Sprint(n * n) }
