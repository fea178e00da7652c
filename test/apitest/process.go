package apitest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// process is a program that runs until it is stopped.
type process struct {
	name string
	log  string // path of its output
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

func startProcess(folder, name string, args ...string) (*process, error) {
	path, err := Program(name)
	if err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(folder, name+".log"))
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	defer log.Close()
	p := &process{name: name, log: log.Name(), cmd: exec.CommandContext(context.Background(), path, args...), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = dieWithParent()
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	go func() {
		_ = p.cmd.Wait() // the log says why it ended
		close(p.done)
	}()
	return p, nil
}

// await returns when ready says so, and an error with the last of the log when
// the program ends before or takes too long.
func (p *process) await(ready func() bool) error {
	limit := time.After(90 * time.Second)
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	for !ready() {
		select {
		case <-p.done:
			return fmt.Errorf("waiting for %s: it ended:\n%s", p.name, p.lastWords())
		case <-limit:
			return fmt.Errorf("waiting for %s: not ready in time:\n%s", p.name, p.lastWords())
		case <-poll.C:
		}
	}
	return nil
}

func (p *process) lastWords() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-15):], "\n")
}

// stop kills: the data is thrown away with the folder.
func (p *process) stop() {
	_ = p.cmd.Process.Kill() // fails only where it has ended already
	<-p.done
}

// FreePort returns a port of loopback that no program listens on. It is below those that the kernel
// gives to connections (32768 and more on Linux): one of them could take it before the test does.
func FreePort() (string, error) {
	var err error
	for range 100 {
		port := strconv.Itoa(10000 + rand.IntN(22000)) //nolint:gosec // a port is no secret
		var listener net.Listener
		if listener, err = new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:"+port); err == nil {
			return port, listener.Close()
		}
	}
	return "", fmt.Errorf("looking for a free port: %w", err)
}
