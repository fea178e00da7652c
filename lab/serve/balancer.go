package serve

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/timelimit"
)

// dialTimeout is long for a bridge on this machine, and short for a client:
// its connection only waits while this one looks for a living backend.
const dialTimeout = time.Second

func backendsFile(stateDir string) string { return filepath.Join(stateDir, "backends") }

// SetBackends names the apiservers, "10.88.0.11:6443", that the balancer
// spreads connections over.
func SetBackends(stateDir string, addresses []string) error {
	for _, address := range addresses {
		if _, _, err := net.SplitHostPort(address); err != nil {
			return fmt.Errorf("setting the balancer's backends: %w", err)
		}
	}
	if err := set(backendsFile(stateDir), strings.Join(addresses, "\n")+"\n"); err != nil {
		return fmt.Errorf("setting the balancer's backends: %w", err)
	}
	return nil
}

// Backends returns the addresses that SetBackends set last.
func Backends(stateDir string) ([]string, error) {
	text, err := os.ReadFile(backendsFile(stateDir))
	if err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("reading the balancer's backends: %w", err)
	}
	return strings.Fields(string(text)), nil
}

// balancer forwards TCP connections to apiservers: to those that are ready in turn,
// and to others only if no ready one answers. A connection to a backend that
// stopped answering is closed, so that its client reconnects to another one.
type balancer struct {
	stateDir string
	pool     pool
}

func newBalancer(stateDir string) *balancer { return &balancer{stateDir: stateDir} }

func (b *balancer) serve(ctx context.Context, listener net.Listener) error {
	var running sync.WaitGroup
	defer running.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	running.Go(func() { b.watch(ctx) })
	context.AfterFunc(ctx, func() { listener.Close() })
	for {
		client, err := listener.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		running.Go(func() { b.connect(ctx, client) })
	}
}

// connect serves one client until either side ends, the backend dies or the
// balancer stops. It reads the list each time, so a change takes effect at once.
func (b *balancer) connect(ctx context.Context, client net.Conn) {
	defer client.Close()
	addresses, err := Backends(b.stateDir)
	if err != nil {
		return // the client sees a closed connection, and comes again
	}
	for _, address := range b.pool.order(addresses) {
		dialer := net.Dialer{Timeout: timelimit.Scale(dialTimeout)}
		backend, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil {
			b.pool.demote(address)
			continue
		}
		defer backend.Close()
		defer b.pool.track(address, client, backend)()
		defer context.AfterFunc(ctx, func() { client.Close(); backend.Close() })()
		relay(client, backend)
		return
	}
}

// relay copies in both directions. The end of one direction is passed on; the other
// one may still carry data.
func relay(a, b net.Conn) {
	var ways sync.WaitGroup
	for _, way := range [][2]net.Conn{{a, b}, {b, a}} {
		ways.Go(func() {
			_, _ = io.Copy(way[0], way[1])
			if half, ok := way[0].(*net.TCPConn); ok {
				_ = half.CloseWrite()
			}
		})
	}
	ways.Wait()
}
