package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// environment is that of a root shell on the machine.
var environment = []string{
	"PATH=/opt/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	"HOME=/root", "USER=root", "LANG=C.UTF-8",
}

// Command is a program of the machine, run in all its namespaces, as root and
// without a terminal unless the caller gives it one. Its exit code is the
// program's own. The machine has to be on: ErrOff.
func (m *Machine) Command(ctx context.Context, args ...string) (*exec.Cmd, error) {
	leader, running, err := m.Leader()
	if err != nil {
		return nil, err
	}
	if !running {
		return nil, fmt.Errorf("node %s: %w", m.Spec.Name, ErrOff)
	}
	env := environment
	if term, ok := os.LookupEnv("TERM"); ok {
		env = append(env[:len(env):len(env)], "TERM="+term)
	}
	enter := []string{"--target", strconv.Itoa(leader.PID), "--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup",
		"--root", "--wd", "--", "env", "-i"}
	enter = append(enter, env...)
	return exec.CommandContext(ctx, "nsenter", append(enter, args...)...), nil
}

// Exec runs a program on the machine and returns what it printed; the end of
// the context kills it. The error
// of one that failed ends with what it complained about, and wraps an
// *exec.ExitError.
func (m *Machine) Exec(ctx context.Context, args ...string) ([]byte, error) {
	return m.run(ctx, nil, args)
}

// WriteFile writes a file on the running machine, and makes its folder.
func (m *Machine) WriteFile(ctx context.Context, path, text string) error {
	return m.write(ctx, strings.NewReader(text), path)
}

// CopyFile copies a file of this machine to the running node, and makes its folder.
func (m *Machine) CopyFile(ctx context.Context, source, path string) error {
	in, err := os.Open(source)
	if err != nil {
		return fmt.Errorf("copying to node %s: %w", m.Spec.Name, err)
	}
	defer in.Close()
	return m.write(ctx, in, path)
}

func (m *Machine) write(ctx context.Context, in io.Reader, path string) error {
	_, err := m.run(ctx, in, []string{"sh", "-c", `mkdir -p "$(dirname "$1")" && cat >"$1"`, "sh", path})
	return err
}

func (m *Machine) run(ctx context.Context, in io.Reader, args []string) ([]byte, error) {
	cmd, err := m.Command(ctx, args...)
	if err != nil {
		return nil, err
	}
	var complaint bytes.Buffer
	cmd.Stdin, cmd.Stderr = in, &complaint
	// nsenter stays between us and the program: a group of their own lets
	// both be killed at once.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 2 * time.Second
	out, err := cmd.Output()
	if err == nil {
		return out, nil
	}
	if ctx.Err() != nil {
		err = errors.Join(ctx.Err(), err)
	}
	return out, fmt.Errorf("running %q on node %s: %w: %s", strings.Join(args, " "), m.Spec.Name, err, strings.TrimSpace(complaint.String()))
}
