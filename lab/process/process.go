// Package process names processes so that the name stays right: by process
// id, start time and boot. A process id alone is used again after its process
// has ended; nothing here ever signals a process that only has the same id.
package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ID is one process, of all that this machine ever runs.
type ID struct {
	PID int `json:"pid"`
	// Start is when it began, in clock ticks since the machine's boot (field
	// 22 of /proc/PID/stat).
	Start uint64 `json:"start"`
	// Boot is the machine's boot id.
	Boot string `json:"boot"`
}

// Of names the process that has this id now. A process that has ended and
// waits to be reaped counts as gone: os.ErrNotExist.
func Of(pid int) (ID, error) {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return ID{}, fmt.Errorf("reading process %d: %w", pid, err)
	}
	state, start, err := parseStat(string(stat))
	if err != nil {
		return ID{}, fmt.Errorf("reading process %d: %w", pid, err)
	}
	if state == 'Z' || state == 'X' {
		return ID{}, fmt.Errorf("process %d has ended: %w", pid, os.ErrNotExist)
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ID{}, fmt.Errorf("reading the boot id: %w", err)
	}
	return ID{PID: pid, Start: start, Boot: strings.TrimSpace(string(boot))}, nil
}

// parseStat reads a line of /proc/PID/stat. The second field is a name in
// parentheses, which may hold spaces and parentheses of its own.
func parseStat(line string) (state byte, start uint64, err error) {
	const stateField, startField = 3, 22
	end := strings.LastIndexByte(line, ')')
	fields := strings.Fields(line[end+1:])
	if end < 0 || len(fields) <= startField-stateField {
		return 0, 0, fmt.Errorf("unexpected stat line %q", line)
	}
	start, err = strconv.ParseUint(fields[startField-stateField], 10, 64)
	if err != nil {
		return 0, 0, fmt.Errorf("unexpected start time: %w", err)
	}
	return fields[0][0], start, nil
}

// Alive reports whether this very process still runs.
func (id ID) Alive() bool {
	now, err := Of(id.PID)
	return err == nil && now == id
}

// Signal sends a signal to this very process. A process that is gone gives
// os.ErrProcessDone.
func (id ID) Signal(signal unix.Signal) error {
	if id.PID <= 0 {
		return os.ErrProcessDone
	}
	fd, err := unix.PidfdOpen(id.PID, 0)
	if errors.Is(err, unix.ESRCH) {
		return os.ErrProcessDone
	}
	if err != nil {
		return fmt.Errorf("opening process %d: %w", id.PID, err)
	}
	defer unix.Close(fd)
	// The descriptor is of one process for good, so what is compared now is
	// what gets the signal.
	if !id.Alive() {
		return os.ErrProcessDone
	}
	err = unix.PidfdSendSignal(fd, signal, nil, 0)
	if errors.Is(err, unix.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

// End asks the process to end with SIGTERM, waits for at most patience, and
// then kills it. It returns when the process is gone.
func (id ID) End(ctx context.Context, patience time.Duration) error {
	if err := id.Signal(unix.SIGTERM); err != nil {
		return gone(err)
	}
	if id.waitGone(ctx, patience) {
		return nil
	}
	if err := id.Signal(unix.SIGKILL); err != nil {
		return gone(err)
	}
	const unkillable = 10 * time.Second
	if !id.waitGone(ctx, unkillable) {
		return fmt.Errorf("process %d does not end, even when killed", id.PID)
	}
	return nil
}

func (id ID) waitGone(ctx context.Context, limit time.Duration) bool {
	deadline := time.Now().Add(limit)
	for id.Alive() {
		if time.Now().After(deadline) || ctx.Err() != nil {
			return false
		}
		time.Sleep(20 * time.Millisecond)
	}
	return true
}

func gone(err error) error {
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}
