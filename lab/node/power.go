package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/network"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/process"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/timelimit"
)

// Start powers the machine on, and returns when its first process runs.
// supervisor is the command that calls Supervise for this machine. A machine
// that is on stays as it is.
func (m *Machine) Start(ctx context.Context, supervisor ...string) error {
	if on, err := m.On(); err != nil || on {
		return err
	}
	// What an earlier run that was killed may have left.
	if err := m.Kill(ctx); err != nil {
		return err
	}
	ended, err := m.launch(ctx, supervisor)
	if err != nil {
		return fmt.Errorf("starting node %s: %w", m.Spec.Name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, timelimit.Scale(20*time.Second))
	defer cancel()
	for {
		if _, running, err := m.Leader(); err != nil || running {
			return err
		}
		select {
		case err := <-ended:
			return fmt.Errorf("starting node %s: its supervisor ended: %w: %s", m.Spec.Name, err, m.lastWords())
		case <-ctx.Done():
			return fmt.Errorf("starting node %s: %w", m.Spec.Name, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// errEnded is that of a supervisor that saw its machine power itself off.
var errEnded = errors.New("the machine went off")

// launch starts the supervisor in a session and a mount namespace of its own:
// neither a closed terminal nor an interrupt reaches it.
func (m *Machine) launch(ctx context.Context, supervisor []string) (ended <-chan error, err error) {
	console, err := os.OpenFile(m.Console(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer console.Close()
	cmd := exec.CommandContext(context.WithoutCancel(ctx), supervisor[0], supervisor[1:]...)
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = console, console
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Unshareflags: syscall.CLONE_NEWNS}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	result := make(chan error, 1)
	go func() {
		err := cmd.Wait()
		if err == nil {
			err = errEnded
		}
		result <- err
	}()
	return result, nil
}

// Kill cuts the machine's power: no process is stopped cleanly. A machine that is
// off stays off.
func (m *Machine) Kill(ctx context.Context) error {
	supervisor, _, err := process.Load(m.supervisorRecord())
	if err != nil {
		return err
	}
	if err := supervisor.End(ctx, timelimit.Scale(10*time.Second)); err != nil {
		return fmt.Errorf("killing node %s: %w", m.Spec.Name, err)
	}
	for _, record := range []string{m.leaderRecord(), m.nspawnRecord()} {
		id, running, err := process.Load(record)
		if err != nil {
			return err
		}
		if running {
			if err := id.End(ctx, 0); err != nil {
				return fmt.Errorf("killing node %s: %w", m.Spec.Name, err)
			}
		}
	}
	return nil
}

// Reboot asks the machine's own logind for a reboot, and returns when the
// machine is up again with a new boot id.
func (m *Machine) Reboot(ctx context.Context) error {
	before, err := m.BootID()
	if err != nil {
		return err
	}
	// The machine may be gone before systemctl has said so.
	_, asked := m.Exec(ctx, "systemctl", "reboot")
	ctx, cancel := context.WithTimeout(ctx, timelimit.Scale(3*time.Minute))
	defer cancel()
	for {
		now, err := m.BootID()
		if err == nil && now != before {
			return m.WaitBooted(ctx)
		}
		if on, err := m.On(); err == nil && !on {
			return fmt.Errorf("rebooting node %s: it went off instead: %s", m.Spec.Name, m.lastWords())
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("rebooting node %s: %w", m.Spec.Name, errors.Join(ctx.Err(), asked))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// WaitBooted returns when the sysexts are merged and containerd answers.
func (m *Machine) WaitBooted(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, timelimit.Scale(2*time.Minute))
	defer cancel()
	for {
		_, err := m.Exec(ctx, "systemctl", "is-active", "containerd.service")
		if err == nil {
			return nil
		}
		if on, err := m.On(); err == nil && !on {
			return fmt.Errorf("booting node %s: it went off: %s", m.Spec.Name, m.lastWords())
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for containerd on node %s: %w", m.Spec.Name, errors.Join(ctx.Err(), err))
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// Partition cuts the machine off from all others, also over its reboots.
func (m *Machine) Partition(ctx context.Context) error {
	if err := os.WriteFile(m.partitionMark(), nil, 0o644); err != nil {
		return err
	}
	return network.Detach(ctx, m.Spec.Name)
}

// Heal ends what Partition began.
func (m *Machine) Heal(ctx context.Context) error {
	if err := os.Remove(m.partitionMark()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return network.Attach(ctx, m.Spec.Name)
}

// lastWords is the end of the console.
func (m *Machine) lastWords() string {
	const much = 600
	f, err := os.Open(m.Console())
	if err != nil {
		return "no console"
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > much {
		_, _ = f.Seek(-much, unix.SEEK_END)
	}
	words := make([]byte, much)
	n, _ := f.Read(words)
	return strings.TrimSpace(string(words[:n]))
}
