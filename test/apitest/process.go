package apitest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
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

func freePort() (string, error) {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("looking for a free port: %w", err)
	}
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	return port, err
}
