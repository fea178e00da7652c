package sim

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	os.Exit(m.Run())
}

// TestSeed runs the seed in the environment variable SEED. If it fails, it prints a small
// story that still fails.
func TestSeed(t *testing.T) {
	seed := number(t, "SEED", 0)
	if seed == 0 {
		t.Skip("set SEED")
	}
	s := newScript(seed)
	result := live(t, s, true)
	if result.failure != "" {
		if os.Getenv("WHOLE") == "" {
			s = shrink(t, s, result.failure, 150)
			result = live(t, s, true)
		}
		t.Errorf("%s", result.failure)
	}
	t.Logf("\n%s\n\n%s\n%s", s, result.story, result.outcome)
}

func number(t *testing.T, name string, otherwise uint64) uint64 {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// TestPromises runs many seeds.
func TestPromises(t *testing.T) {
	seeds, first := number(t, "SEEDS", 2000), number(t, "FIRST", 1)
	keep := number(t, "KEEP", 1)
	began := time.Now()
	var next, failed, begins, steps atomic.Int64
	next.Store(int64(first))
	var mu sync.Mutex
	t.Run("seeds", func(t *testing.T) {
		for range runtime.GOMAXPROCS(0) {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				for failed.Load() < int64(keep) {
					seed := uint64(next.Add(1) - 1)
					if seed >= first+seeds {
						return
					}
					result := live(t, newScript(seed), false)
					begins.Add(int64(result.begins))
					steps.Add(int64(result.steps))
					if result.failure != "" {
						failed.Add(1)
						mu.Lock()
						fmt.Printf("make sim SEED=%d: %.300s\n", seed, result.failure)
						mu.Unlock()
					}
				}
			})
		}
	})
	ran := next.Load() - int64(first)
	took := time.Since(began)
	t.Logf("%d seeds in %s: %.0f seeds a second; nodes began %d disruptive actions", ran, took.Round(time.Millisecond), float64(ran)/took.Seconds(), begins.Load())
	if failed.Load() > 0 {
		t.Errorf("%d seeds failed", failed.Load())
	}
}
