package stall

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"
)

// every is the pause between two readings.
const every = 500 * time.Millisecond

// Watch reads again and again how the machine is.
type Watch struct {
	file *os.File

	mu       sync.Mutex
	readings []Reading
	from     time.Time // when the present reading began
	fsyncs   time.Time // when the fsync that has not returned began; zero: there is none
}

// Start starts a Watch that writes a small file of its own into a folder, until ctx ends. The
// folder should be on the disk that the nodes use.
func Start(ctx context.Context, dir string) (*Watch, error) {
	file, err := os.CreateTemp(dir, ".stall-watch-")
	if err != nil {
		return nil, fmt.Errorf("watching whether the machine stands still: %w", err)
	}
	_ = os.Remove(file.Name()) // the open file is enough, and a run that is killed leaves nothing
	w := &Watch{file: file, from: time.Now()}
	go w.run(ctx)
	return w, nil
}

func (w *Watch) run(ctx context.Context) {
	defer func() { _ = w.file.Close() }()
	tick := time.NewTimer(every)
	last := readPressure()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		last = w.read(last)
		tick.Reset(every)
	}
}

// read makes a reading, and returns the counters of pressure at its end.
func (w *Watch) read(last pressure) pressure {
	ran := time.Now()
	w.mu.Lock()
	r := Reading{From: w.from, Late: late(w.from, ran)}
	w.fsyncs = ran
	w.mu.Unlock()
	if _, err := w.file.WriteAt([]byte(ran.String()), 0); err == nil {
		_ = w.file.Sync() // a disk that is full or broken shows elsewhere
	}
	r.To = time.Now()
	r.Fsync = r.To.Sub(ran)
	now := readPressure()
	r.IO, r.Memory = now.since(last, r.To.Sub(r.From))
	w.mu.Lock()
	defer w.mu.Unlock()
	w.readings = append(w.readings, r)
	w.from, w.fsyncs = r.To, time.Time{}
	return now
}

// late returns how much later than planned a reading ran, by the clock that only counts while
// the machine runs, or by the one that a hypervisor sets afterwards.
func late(from, ran time.Time) time.Duration {
	return max(ran.Sub(from), ran.Round(0).Sub(from.Round(0))) - every
}

// Stalls returns the times so far in which the machine stood still, also if it still does.
func (w *Watch) Stalls() []Stall {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	present := Reading{From: w.from, To: now, Late: late(w.from, now)}
	if !w.fsyncs.IsZero() {
		present.Late, present.Fsync = late(w.from, w.fsyncs), now.Sub(w.fsyncs)
	}
	return Of(append(w.readings[:len(w.readings):len(w.readings)], present))
}

// Between returns the times between two instants in which the machine stood still.
func (w *Watch) Between(from, to time.Time) []Stall { return Between(w.Stalls(), from, to) }
