package artifacts

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// patience is how long a command may take to end after SIGTERM.
const patience = 10 * time.Second

// command is one program to run. Its output goes to a log in the cache, and the last
// lines into the error.
type command struct {
	log  string // name of the log, without folder and suffix
	dir  string
	env  []string // on top of this process's own
	args []string
	// take, if it is not nil, gets each line of standard error. Those that it returns
	// true for are neither logged nor part of an error.
	take func(line string) bool
	// ownMounts gives the program a mount namespace, so that what it mounts
	// goes away with it, even when it is killed: a mount of /dev that stays in
	// a folder would be emptied with that folder.
	ownMounts bool
}

// run returns what the program wrote to its standard output.
func (c *Cache) run(ctx context.Context, what command) (string, error) {
	log, err := c.log(what.log)
	if err != nil {
		return "", err
	}
	defer log.Close()
	var out bytes.Buffer
	tail := &tailWriter{}
	cmd := exec.CommandContext(ctx, what.args[0], what.args[1:]...)
	cmd.Dir = what.dir
	cmd.Env = append(os.Environ(), what.env...)
	cmd.Stdout = &out
	rest := &lineWriter{take: what.take, to: io.MultiWriter(log, tail)}
	cmd.Stderr = rest
	// The program ends with this process, even when this one is killed. The
	// kernel ties that to the thread that starts it, so the thread must stay.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if what.ownMounts {
		cmd.SysProcAttr.Unshareflags = syscall.CLONE_NEWNS
	}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = patience
	fmt.Fprintf(log, "+ %s\n", strings.Join(what.args, " "))
	err = cmd.Run()
	rest.flush()
	if err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		return "", fmt.Errorf("running %s: %w (log: %s)\n%s", what.args[0], err, log.Name(), tail)
	}
	return out.String(), nil
}

func (c *Cache) log(name string) (*os.File, error) {
	dir := filepath.Join(c.Dir, "log")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return os.OpenFile(filepath.Join(dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
}

// tailLimit is enough for the last lines of a program's output.
const tailLimit = 2000

// tailWriter keeps the end of what is written to it.
type tailWriter struct{ end []byte }

func (t *tailWriter) Write(p []byte) (int, error) {
	t.end = append(t.end, p...)
	if extra := len(t.end) - tailLimit; extra > 0 {
		t.end = t.end[extra:]
	}
	return len(p), nil
}

func (t *tailWriter) String() string { return strings.TrimSpace(string(t.end)) }
