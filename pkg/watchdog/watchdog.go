// Package watchdog ends a program whose loop hangs, so that the kubelet starts it again.
//
// It promises that a round of the loop that takes longer than the limit does not pass
// unnoticed: the stacks of all goroutines are printed, and the program ends. It cannot notice
// a process that is stopped as a whole.
package watchdog

import (
	"fmt"
	"os"
	"runtime"
	"time"
)

// Limit is how long a round of an agent or a coordinator may take. Each request in it ends
// much earlier, also when the API server does not answer.
const Limit = 15 * time.Minute

// Watchdog watches the rounds of a loop. The zero Watchdog watches nothing.
type Watchdog struct {
	// Limit is how long a round may take.
	Limit time.Duration
	// Hung is called when a round takes longer.
	Hung func()
}

// Exiting returns a Watchdog that ends this program with status 1. loop names the loop in
// what it prints.
func Exiting(loop string) Watchdog {
	return Watchdog{Limit: Limit, Hung: func() {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		fmt.Fprintf(os.Stderr, "%s hangs: a round has taken more than %s. The program ends, to be started again. What it was doing:\n%s\n", loop, Limit, stacks)
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
