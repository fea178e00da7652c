package apiserver

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Process is a program that runs until it is stopped.
type Process struct {
	Name string
	// Done is closed when it has ended.
	Done chan struct{}

	log string // path of its output
	cmd *exec.Cmd
}

// Start starts the program at a path. Its output goes to a file in the folder.
func Start(folder, path string, args ...string) (*Process, error) {
	name := filepath.Base(path)
	log, err := os.Create(filepath.Join(folder, name+".log"))
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	defer log.Close()
	p := &Process{Name: name, Done: make(chan struct{}), log: log.Name(), cmd: exec.CommandContext(context.Background(), path, args...)}
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = dieWithParent()
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	go func() {
		_ = p.cmd.Wait() // the log says why it ended
		close(p.Done)
	}()
	return p, nil
}

// PID returns its process ID.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Await returns when ready says so, and an error with the last of the log when the program ends before
// or takes too long.
func (p *Process) Await(ctx context.Context, ready func() bool) error {
	limit := time.After(4 * time.Minute) // on a busy machine, a start takes minutes
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	for !ready() {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-p.Done:
			return &NotReady{Name: p.Name, Why: "it ended", Log: p.lastWords()}
		case <-limit:
			return &NotReady{Name: p.Name, Why: "not ready in time", Log: p.lastWords()}
		case <-poll.C:
		}
	}
	return nil
}

// NotReady is why a program did not become ready, with the last lines of its log.
type NotReady struct {
	Name, Why string
	Log       []string
}

func (e *NotReady) Error() string {
	return fmt.Sprintf("waiting for %s: %s:\n%s", e.Name, e.Why, strings.Join(e.Log, "\n"))
}

func (p *Process) lastWords() []string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return []string{err.Error()}
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[max(0, len(lines)-15):]
}

// Stop kills: the data is thrown away with the folder.
func (p *Process) Stop() {
	_ = p.cmd.Process.Kill() // fails only where it has ended already
	<-p.Done
}

// given are the ports that FreePort has returned. Each is held by its UDP socket, which no program here
// uses otherwise.
var given struct {
	sync.Mutex
	sockets []net.PacketConn
}

// FreePort returns a port of loopback that no program listens on, and that no other call returns while
// this process lives, in this or in another process: a program may listen on it later, or end and listen
// again. It is below those that the kernel gives to connections (32768 and more on Linux).
func FreePort() (string, error) {
	var err error
	for range 100 {
		port := strconv.Itoa(10000 + rand.IntN(22000)) //nolint:gosec // a port is no secret
		if err = give(port); err == nil {
			return port, nil
		}
	}
	return "", fmt.Errorf("looking for a free port: %w", err)
}

func give(port string) error {
	var config net.ListenConfig
	address := net.JoinHostPort("127.0.0.1", port)
	socket, err := config.ListenPacket(context.Background(), "udp", address)
	if err != nil {
		return err
	}
	listener, err := config.Listen(context.Background(), "tcp", address)
	if err != nil {
		return errors.Join(err, socket.Close())
	}
	given.Lock()
	defer given.Unlock()
	given.sockets = append(given.sockets, socket)
	return listener.Close()
}
