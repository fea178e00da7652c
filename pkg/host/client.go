package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/verb"
)

// Client has verbs run on the node. It connects to the system bus when it is
// first needed, and again when the bus went away. Its methods may be called
// from several goroutines; errors of the bus bear the reason HostUnreachable.
type Client struct {
	root, address string
	failures      map[verb.Verb]v1alpha1.Reason
	within        time.Duration // for an answer

	mu  sync.Mutex
	bus *dbus.Conn
}

// NewClient makes a Client for the folder that pod and node share (Root) and
// the bus at that D-Bus address; an empty address is SystemBus. It knows the
// verbs in failures, each with the reason of a failure that names none.
func NewClient(root, busAddress string, failures map[verb.Verb]v1alpha1.Reason) *Client {
	if busAddress == "" {
		busAddress = SystemBus
	}
	return &Client{root: root, address: busAddress, failures: failures, within: answerWithin}
}

// Start has the node run a verb. It does nothing when that verb is running
// already, whatever it was asked for: Last tells when it has ended. Otherwise
// it returns when systemd has accepted the unit.
func (c *Client) Start(ctx context.Context, r Request, o Options) error {
	running, err := c.running(ctx, r.Verb)
	if err != nil || running {
		return err
	}
	r.RequestedAt = time.Now().UTC()
	if err := os.Remove(resultFile(c.root, r.Verb)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing the former result of host verb %q: %w", r.Verb, err)
	}
	if err := writeJSON(requestFile(c.root, r.Verb), r); err != nil {
		return err
	}
	err = c.call(ctx, systemd, managerInterface+".StartTransientUnit", nil,
		Unit(r.Verb), "fail", properties(c.root, r.Verb, o), []auxUnit{})
	if isDBusError(err, "org.freedesktop.systemd1.UnitExists") {
		return nil
	}
	if err != nil {
		return errors.Join(unreachable("starting host verb %q: %w", r.Verb, err), c.forget(r.Verb))
	}
	return nil
}

// forget removes a request that systemd did not accept: Last would take it for one
// whose unit ended without a result. A unit that was started all the same, and whose
// answer was lost, finds no arguments and does nothing.
func (c *Client) forget(v verb.Verb) error {
	if err := os.Remove(requestFile(c.root, v)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing the request for host verb %q: %w", v, err)
	}
	return nil
}

// Last returns whether a verb is running, and what came of the last request: nil
// when there was none, or while it runs. A unit that ended without leaving a
// result gives one that says so.
func (c *Client) Last(ctx context.Context, v verb.Verb) (running bool, last *Result, err error) {
	if running, err = c.running(ctx, v); err != nil || running {
		return running, nil, err
	}
	last, err = lastResult(c.root, v, c.failures[v])
	return false, last, err
}

// Asked returns the last request for a verb, or nil.
func (c *Client) Asked(v verb.Verb) (*Request, error) {
	return readJSON[Request](requestFile(c.root, v))
}

// Open opens a file of the state folder, such as a log, to be read.
func (c *Client) Open(name string) (*os.File, error) {
	return os.Open(filepath.Join(StateDir(c.root), name))
}

// Reboot asks logind to reboot the node. No error means that logind accepted,
// not that the node will go down: only a changed boot id says that it did.
func (c *Client) Reboot(ctx context.Context) error {
	const interactive = false
	if err := c.call(ctx, logind, "org.freedesktop.login1.Manager.Reboot", nil, interactive); err != nil {
		return Fail(v1alpha1.ReasonRebootFailed, "asking logind for a reboot: %w", err)
	}
	return nil
}

// Close ends the connection to the bus. A later call opens a new one.
func (c *Client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bus == nil {
		return nil
	}
	bus := c.bus
	c.bus = nil
	return bus.Close()
}
