package program

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hung := 0
		w := Watchdog{Limit: time.Minute, Hung: func() { hung++ }}
		for range 3 { // three minutes in all
			end := w.Round()
			time.Sleep(59 * time.Second)
			end()
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if hung != 0 {
			t.Errorf("short rounds: got %d calls of Hung, want none", hung)
		}
		end := w.Round()
		time.Sleep(61 * time.Second)
		synctest.Wait()
		if hung != 1 {
			t.Errorf("a round of more than a minute: got %d calls of Hung, want 1", hung)
		}
		end()
		Watchdog{}.Round()()
	})
}

// TestExiting runs this test's program again, which hangs.
func TestExiting(t *testing.T) {
	if os.Getenv("WATCHDOG_HANGS") != "" {
		w := ExitingWatchdog("the agent")
		w.Limit = time.Millisecond
		w.Round()
		hangHere(make(chan int))
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestExiting$")
	cmd.Env = append(os.Environ(), "WATCHDOG_HANGS=1")
	said, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("got %v, want exit status 1", err)
	}
	for _, want := range []string{"the agent hangs", "hangHere"} {
		if !strings.Contains(string(said), want) {
			t.Errorf("the output has no %q:\n%s", want, said)
		}
	}
}

func hangHere(never chan int) { <-never }
