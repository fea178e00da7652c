package program

import (
	"fmt"
	"os"
	"runtime"
	"time"
)

// WatchdogLimit is how long a round of an agent or a coordinator may take. Each request in it ends
// much earlier, also when the API server does not answer.
const WatchdogLimit = 15 * time.Minute

// Watchdog watches the rounds of a loop: a round that takes longer than the limit prints the
// stacks of all goroutines and ends the program, so that the kubelet starts it again. It cannot
// notice a process that is stopped as a whole. The zero Watchdog watches nothing.
type Watchdog struct {
	// Limit is how long a round may take.
	Limit time.Duration
	// Hung is called when a round takes longer.
	Hung func()
}

// ExitingWatchdog returns a Watchdog that ends this program with status 1. loop names the loop in
// what it prints.
func ExitingWatchdog(loop string) Watchdog {
	return Watchdog{Limit: WatchdogLimit, Hung: func() {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		message := fmt.Sprintf("%s hangs: a round has taken more than %s. The program ends, to be started again.", loop, WatchdogLimit)
		fmt.Fprintf(os.Stderr, "%s What it was doing:\n%s\n", message, stacks)
		leaveMessage(terminationLog, message)
		os.Exit(1)
	}}
}

// Round begins to watch a round. The caller calls end when the round is over.
func (w Watchdog) Round() (end func()) {
	if w.Hung == nil {
		return func() {}
	}
	timer := time.AfterFunc(w.Limit, w.Hung)
	return func() { timer.Stop() }
}
