package client

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// run keeps its thread, as the kernel ends the child when the thread that made
// it ends: kube-proxy must not outlive a program that was killed.
func run(cmd *exec.Cmd, log *os.File, started chan<- error, done chan<- struct{}) {
	runtime.LockOSThread()
	defer func() { _ = log.Close() }()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		started <- fmt.Errorf("starting kube-proxy: %w", err)
		return
	}
	started <- nil
	_ = cmd.Wait() // it is killed, sooner or later
	close(done)
}

// dialIn opens the socket on a thread that is inside the namespace; a socket
// stays in the namespace it was made in.
func dialIn(ctx context.Context, handle, network, address string) (net.Conn, error) {
	type result struct {
		conn net.Conn
		err  error
	}
	results := make(chan result, 1)
	go func() {
		// The thread stays locked, so that the runtime ends it with the goroutine and no
		// other goroutine runs in the namespace.
		runtime.LockOSThread()
		file, err := os.Open(handle)
		if err != nil {
			results <- result{err: fmt.Errorf("entering the client's network: %w", err)}
			return
		}
		defer func() { _ = file.Close() }()
		if err := unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err != nil {
			results <- result{err: fmt.Errorf("entering the client's network: %w", err)}
			return
		}
		// An IP address and one family: no second goroutine, on a thread outside,
		// takes part in the dialing.
		conn, err := (&net.Dialer{FallbackDelay: -1}).DialContext(ctx, network, address)
		results <- result{conn, err}
	}()
	r := <-results
	return r.conn, r.err
}
