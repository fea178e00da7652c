package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/timelimit"
)

// Two addresses of the bridge's subnet that no node has.
const (
	firstStation  = "10.88.0.2"
	secondStation = "10.88.0.3"
)

// patience is how long a packet may take over the bridge of an ordinary machine.
const patience = 3 * time.Second

// reach sends packets the ways that the lab's go: from one port of the bridge to
// another, from a port to this machine, and from this machine to a port. Whatever
// drops them, the error is a blockedError. Nothing of it stays.
func reach(ctx context.Context) error {
	var second net.Listener
	defer pullOut(ctx, firstStation, secondStation)
	if err := station(ctx, secondStation, func() (err error) {
		second, err = (&net.ListenConfig{}).Listen(ctx, "tcp4", secondStation+":0")
		return err
	}); err != nil {
		return err
	}
	defer second.Close()
	machine, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", Host+":0")
	if err != nil {
		return fmt.Errorf("listening on %s: %w", Bridge, err)
	}
	defer machine.Close()
	if err := dial(ctx, second.Addr(), "from this machine to a node"); err != nil {
		return err
	}
	return station(ctx, firstStation, func() error {
		if err := dial(ctx, second.Addr(), "from node to node"); err != nil {
			return err
		}
		return dial(ctx, machine.Addr(), "from a node to this machine")
	})
}

// blockedError says which way is closed.
type blockedError struct {
	way   string
	cause error
}

func (e blockedError) Error() string { return e.way }
func (e blockedError) Unwrap() error { return e.cause }

func dial(ctx context.Context, to net.Addr, way string) error {
	// An IP address and one family: the socket is made on this goroutine's thread.
	connection, err := (&net.Dialer{Timeout: timelimit.Scale(patience), FallbackDelay: -1}).DialContext(ctx, "tcp4", to.String())
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return blockedError{way, err}
	}
	return connection.Close()
}

// station calls do on a thread that has a network of its own, with that address and
// a cable to the bridge. The network lives as long as the thread and the sockets
// that do has opened there.
func station(ctx context.Context, address string, do func() error) error {
	result := make(chan error, 1)
	go func() {
		// The thread stays locked, so that the runtime ends it with the goroutine.
		runtime.LockOSThread()
		if err := moveOut(ctx, address); err != nil {
			result <- fmt.Errorf("connecting %s to %s: %w", address, Bridge, err)
			return
		}
		result <- do()
	}()
	return <-result
}

func moveOut(ctx context.Context, address string) error {
	machine, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return err
	}
	defer machine.Close()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return err
	}
	cable := stationPort(address)
	return errors.Join(
		batch(ctx, machine, "link add "+cable+" type veth peer name host0 netns "+strconv.Itoa(unix.Gettid()),
			"link set "+cable+" master "+Bridge+" up"),
		batch(ctx, nil, "address add "+address+"/"+strconv.Itoa(prefixLength)+" dev host0", "link set host0 up"))
}

func stationPort(address string) string {
	return Port("probe" + address[strings.LastIndex(address, ".")+1:])
}

// pullOut removes the cables at once. The kernel would, some time after the networks
// have ended.
func pullOut(ctx context.Context, addresses ...string) {
	for _, address := range addresses {
		_ = ip(context.WithoutCancel(ctx), "link", "delete", stationPort(address))
	}
}

// batch runs commands of ip in a network, or in the thread's own.
func batch(ctx context.Context, network *os.File, commands ...string) error {
	cmd := exec.CommandContext(ctx, "ip", "-batch", "-")
	if network != nil {
		cmd = exec.CommandContext(ctx, "nsenter", "--net=/proc/self/fd/3", "ip", "-batch", "-")
		cmd.ExtraFiles = []*os.File{network}
	}
	cmd.Stdin = strings.NewReader(strings.Join(commands, "\n") + "\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("running ip: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}
