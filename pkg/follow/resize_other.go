//go:build !unix

package follow

import "os"

// resizes tells nothing where there is no signal for it: the size is asked for
// every second anyway.
func resizes() (changed <-chan os.Signal, stop func()) { return nil, func() {} }
