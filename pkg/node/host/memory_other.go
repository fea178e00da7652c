//go:build !linux

package host

import (
	"errors"
	"os"
)

// newMemoryFile is for nodes, which run Linux. `make play`, whose hosts pretend, is compiled for others.
func newMemoryFile(string) (*os.File, error) { return nil, errors.ErrUnsupported }
