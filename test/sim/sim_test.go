package sim

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(800) // lives are short
	// client-go's handlers limit the rate of errors for the whole process, by the clock.
	utilruntime.ErrorHandlers = nil
	apitest.Main(m)
}

// TestSeed runs the seed in the environment variable SEED. If it fails, it prints a small
// story that still fails.
func TestSeed(t *testing.T) {
	seed := number(t, "SEED", 0)
	if seed == 0 {
		t.Skip("set SEED")
	}
	s := newScript(seed)
	result := simulate(t, s, true)
	if result.failure != "" {
		if os.Getenv("WHOLE") == "" {
			s = shrink(t, s, result.failure, 150)
			result = simulate(t, s, true)
		}
		t.Errorf("%s", result.failure)
	}
	t.Logf("\n%s\n\n%s\n%s", s, result.story, result.status)
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

// TestPromises runs many seeds: SEEDS of them, from FIRST on, on every CPU. It stops at the
// first that fails, or at the number KEEP.
func TestPromises(t *testing.T) {
	r := &runner{seeds: number(t, "SEEDS", 500), first: number(t, "FIRST", 1), keep: number(t, "KEEP", 1), began: time.Now()}
	r.next.Store(r.first)
	r.printed.Store(r.began.Unix())
	t.Run("seeds", func(t *testing.T) {
		for range runtime.GOMAXPROCS(0) {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				r.run(t)
			})
		}
	})
	r.print()
	if n := r.failed.Load(); n > 0 {
		t.Errorf("%d seeds failed", n)
	}
}

// runner runs seeds on several CPUs.
type runner struct {
	seeds, first, keep         uint64
	began                      time.Time
	next, ran, failed, actions atomic.Uint64
	printed                    atomic.Int64 // when the progress was printed last
}

func (r *runner) run(t *testing.T) {
	for seed := r.next.Add(1) - 1; seed < r.first+r.seeds && r.failed.Load() < r.keep; seed = r.next.Add(1) - 1 {
		result := simulate(t, newScript(seed), false)
		r.ran.Add(1)
		r.actions.Add(uint64(result.begins))
		if result.failure != "" {
			r.failed.Add(1)
			fmt.Printf("make sim SEED=%d: %.300s\n", seed, result.failure)
		}
		if was, now := r.printed.Load(), time.Now().Unix(); now-was >= 60 && r.printed.CompareAndSwap(was, now) {
			r.print()
		}
	}
}

func (r *runner) print() {
	ran, took := r.ran.Load(), time.Since(r.began)
	fmt.Printf("%d seeds in %s: %.1f seeds a second; %d failed; nodes began %d disruptive actions\n",
		ran, took.Round(time.Second), float64(ran)/took.Seconds(), r.failed.Load(), r.actions.Load())
}

// TestRepeatable checks that a seed gives the same story each time.
func TestRepeatable(t *testing.T) {
	for seed := range uint64(10) {
		first, second := simulate(t, newScript(seed), true), simulate(t, newScript(seed), true)
		if diff := cmp.Diff(first.story, second.story); diff != "" {
			t.Errorf("seed %d (-first +second):\n%s", seed, diff)
		}
	}
}
