//go:build !unix

package watch

import "os"

// resizes returns a channel that reports nothing, as there is no signal for it here. The
// size is read every second anyway.
func resizes() (changed <-chan os.Signal, stop func()) { return nil, func() {} }
