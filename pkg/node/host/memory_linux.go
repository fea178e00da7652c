package host

import (
	"os"

	"golang.org/x/sys/unix"
)

// newMemoryFile returns an empty file in memory.
func newMemoryFile(name string) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}
