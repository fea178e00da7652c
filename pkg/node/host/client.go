package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	systemdbus "github.com/coreos/go-systemd/v22/dbus"
	"github.com/godbus/dbus/v5"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// Client runs verbs on the node. It connects to the system bus on first use, and
// reconnects after the connection was lost. Its methods may be called from several
// goroutines. Errors of the bus have the reason HostUnreachable.
//
// Its connection is not go-systemd's, which waits without a limit for a bus that has accepted it,
// gets a signal for each job of the node, and does not return the errors of logind.
type Client struct {
	root, address string
	failures      map[verb.Verb]v1alpha1.Reason
	timeout       time.Duration // of one call
	program       string        // that direct verbs run

	mu     sync.Mutex
	bus    *dbus.Conn
	direct map[verb.Verb]*direct // the last run of each direct verb
}

// NewClient returns a Client for the folder that pod and node share (Root) and the
// bus at a D-Bus address; empty means SystemBus. failures has the verbs that the
// Client knows, each with the reason for a failure that has no reason of its own.
func NewClient(root, busAddress string, failures map[verb.Verb]v1alpha1.Reason) *Client {
	if busAddress == "" {
		busAddress = SystemBus
	}
	return &Client{root: root, address: busAddress, failures: failures, timeout: callTimeout, program: ImageProgram, direct: map[verb.Verb]*direct{}}
}

// Start starts a verb on the node, and returns when systemd has accepted its unit.
// It does nothing if the verb is already running, even for another request: Last
// reports when it has ended.
func (c *Client) Start(ctx context.Context, r verb.Request, o verb.Options) error {
	running, err := c.running(ctx, r.Verb)
	if err != nil || running {
		return err
	}
	r.RequestedAt = time.Now().UTC()
	if o.Direct {
		return c.startDirect(ctx, r, o)
	}
	return OnNode.explain(c.startInstalled(ctx, r, o))
}

// startInstalled starts a verb of the program that is installed on the node.
func (c *Client) startInstalled(ctx context.Context, r verb.Request, o verb.Options) error {
	if err := os.Remove(resultFile(c.root, r.Verb)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing the former result of host verb %q: %w", r.Verb, err)
	}
	if err := writeJSON(requestFile(c.root, r.Verb), r); err != nil {
		return err
	}
	if err := c.startUnit(ctx, r.Verb, o); err != nil {
		return errors.Join(unreachable("starting host verb %q: %w", r.Verb, err), c.removeRequest(r.Verb))
	}
	return nil
}

// startUnit starts the verb's unit, unless it runs. systemd may not have unloaded the unit of
// the former run yet, and then refuses another one of its name.
func (c *Client) startUnit(ctx context.Context, v verb.Verb, o verb.Options) error {
	const tries, pause = 20, 50 * time.Millisecond
	var err error
	for range tries {
		err = c.startTransient(ctx, Unit(v), properties(c.root, v, o))
		if !isDBusError(err, "org.freedesktop.systemd1.UnitExists") {
			return err
		}
		if running, err := c.running(ctx, v); err != nil || running {
			return err
		}
		time.Sleep(pause)
	}
	return err
}

// removeRequest removes a request whose unit systemd did not accept. Otherwise Last
// would report that the unit ended without a result. If the unit was started after
// all and only the reply was lost, the verb finds no arguments and does nothing.
func (c *Client) removeRequest(v verb.Verb) error {
	if err := os.Remove(requestFile(c.root, v)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing the request for host verb %q: %w", v, err)
	}
	return nil
}

// Last reports whether a verb is running, and returns the result of the last
// request: nil while the verb runs or if there was no request. If the unit ended
// without a result, Last returns one that says so.
func (c *Client) Last(ctx context.Context, v verb.Verb) (running bool, last *verb.Result, err error) {
	if running, err = c.running(ctx, v); err != nil || running {
		return running, nil, err
	}
	if last, ran := c.lastDirect(v); ran {
		return false, last, nil
	}
	last, err = lastResult(c.root, v, c.failures[v])
	return false, last, err
}

// LastRequest returns the last request for a verb, or nil if there was none.
func (c *Client) LastRequest(v verb.Verb) (*verb.Request, error) {
	return readJSON[verb.Request](requestFile(c.root, v))
}

// Open opens a file in the state folder, such as a log, for reading.
func (c *Client) Open(name string) (*os.File, error) {
	return os.Open(filepath.Join(StateDir(c.root), name))
}

// Reboot asks logind to reboot the node. It returns nil if logind accepted the
// request. Only a changed boot ID shows that the node has rebooted.
func (c *Client) Reboot(ctx context.Context) error {
	const interactive = false
	if err := c.call(ctx, logind, "org.freedesktop.login1.Manager.Reboot", nil, interactive); err != nil {
		return Fail(v1alpha1.ReasonRebootFailed, "asking logind for a reboot: %w", err)
	}
	return nil
}

// SoftReboot asks logind to stop everything but the kernel and start it again. It returns
// nil if logind accepted the request. As with Reboot, a program that inhibits a shutdown
// may delay or refuse it.
func (c *Client) SoftReboot(ctx context.Context) error {
	const softReboot = uint64(1 << 2) // org.freedesktop.login1(5), RebootWithFlags
	if err := c.call(ctx, logind, "org.freedesktop.login1.Manager.RebootWithFlags", nil, softReboot); err != nil {
		return Fail(v1alpha1.ReasonRebootFailed, "asking logind for a soft reboot: %w", err)
	}
	return nil
}

// IsStopping reports whether systemd stops everything, for a reboot of either kind or a power-off. Units may take long
// to stop.
func (c *Client) IsStopping(ctx context.Context) (bool, error) {
	var state dbus.Variant
	if err := c.call(ctx, systemd, propertiesInterface+".Get", &state, managerInterface, "SystemState"); err != nil {
		return false, unreachable("asking systemd for its state: %w", err)
	}
	return state.Value() == "stopping", nil
}

// Close closes the connection to the bus. A later call opens a new one.
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

const (
	managerInterface    = "org.freedesktop.systemd1.Manager"
	propertiesInterface = "org.freedesktop.DBus.Properties"
)

// peer is an object on the bus.
type peer struct {
	name string
	path dbus.ObjectPath
}

var (
	systemd      = peer{"org.freedesktop.systemd1", "/org/freedesktop/systemd1"}
	logind       = peer{"org.freedesktop.login1", "/org/freedesktop/login1"}
	updateEngine = peer{"com.coreos.update1", "/com/coreos/update1"}
)

// callTimeout limits each call over the bus; it is libdbus's default. godbus has no
// limit: it would wait forever for a reply that is lost, for example because systemd
// re-executes itself.
const callTimeout = 25 * time.Second

// dial opens a connection that delivers signals in order and drops none.
func (c *Client) dial(ctx context.Context) (*dbus.Conn, error) {
	bus, err := dbus.Dial(c.address, dbus.WithSignalHandler(dbus.NewSequentialSignalHandler()))
	if err != nil {
		return nil, unreachable("connecting to the node's system bus at %s: %w", c.address, err)
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = bus.Close() })
	if err = bus.Auth(nil); err == nil {
		err = bus.Hello()
	}
	if !stop() {
		err = ctx.Err()
	}
	if err != nil {
		_ = bus.Close()
		return nil, unreachable("connecting to the node's system bus at %s: %w", c.address, err)
	}
	return bus, nil
}

func (c *Client) connected(ctx context.Context) (*dbus.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bus != nil && c.bus.Connected() {
		return c.bus, nil
	}
	bus, err := c.dial(ctx)
	if err != nil {
		return nil, err
	}
	c.bus = bus
	return bus, nil
}

// call calls a method and stores its reply in what the pointer reply points to. If
// reply is nil, it discards the reply.
func (c *Client) call(ctx context.Context, to peer, method string, reply any, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	bus, err := c.connected(ctx)
	if err != nil {
		return err
	}
	call := bus.Object(to.name, to.path).CallWithContext(ctx, method, 0, args...)
	if reply == nil || call.Err != nil {
		return call.Err
	}
	return call.Store(reply)
}

// running reports whether a verb's unit exists and has not ended.
func (c *Client) running(ctx context.Context, v verb.Verb) (bool, error) {
	running, err := c.unitRuns(ctx, Unit(v))
	if err != nil {
		return false, unreachable("asking systemd about %s: %w", Unit(v), err)
	}
	return running, nil
}

// unitRuns reports whether a unit exists and has not ended. A unit that was requested a moment ago is still inactive, but has
// a job. Asked for a unit by its name, systemd would load it: the signals that tell so would cause the next question.
func (c *Client) unitRuns(ctx context.Context, unit string) (bool, error) {
	var loaded []systemdbus.UnitStatus
	err := c.call(ctx, systemd, managerInterface+".ListUnitsByPatterns", &loaded, []string{}, []string{unit})
	return slices.ContainsFunc(loaded, func(s systemdbus.UnitStatus) bool {
		return s.JobId != 0 || s.ActiveState != "inactive" && s.ActiveState != "failed"
	}), err
}

func unreachable(format string, args ...any) error {
	return Fail(v1alpha1.ReasonHostUnreachable, format, args...)
}

func isDBusError(err error, name string) bool {
	var e dbus.Error
	return errors.As(err, &e) && e.Name == name
}
