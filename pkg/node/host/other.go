//go:build !linux

package host

import (
	"errors"
	"os"
)

// Nodes run Linux. `make play`, whose hosts pretend, is compiled for other systems, too.

func newMemoryFile(string) (*os.File, error) { return nil, errors.ErrUnsupported }

// ReadOnlyExtensions returns nothing: only Linux has systemd-sysext.
func (Layout) ReadOnlyExtensions() []string { return nil }

func (Layout) explain(err error) error { return err }
