//go:build unix

package watch

import (
	"os"
	"os/signal"
	"syscall"
)

// resizes returns a channel that reports when the terminal's size changes.
func resizes() (changed <-chan os.Signal, stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGWINCH)
	return signals, func() { signal.Stop(signals) }
}
