package host

import (
	"context"
	"errors"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

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
	var path dbus.ObjectPath
	err := c.call(ctx, systemd, managerInterface+".GetUnit", &path, Unit(v))
	running := false
	if err == nil {
		running, err = c.unitRuns(ctx, path)
	}
	if isDBusError(err, "org.freedesktop.systemd1.NoSuchUnit") || isDBusError(err, "org.freedesktop.DBus.Error.UnknownObject") {
		return false, nil
	}
	if err != nil {
		return false, unreachable("asking systemd about %s: %w", Unit(v), err)
	}
	return running, nil
}

// unitRuns reports whether a unit has not ended. A unit that was requested a moment ago is
// still inactive, but has a job.
func (c *Client) unitRuns(ctx context.Context, path dbus.ObjectPath) (bool, error) {
	var unit map[string]dbus.Variant
	if err := c.call(ctx, peer{systemd.name, path}, propertiesInterface+".GetAll", &unit, "org.freedesktop.systemd1.Unit"); err != nil {
		return false, err
	}
	state, _ := unit["ActiveState"].Value().(string)
	return hasJob(unit["Job"]) || state != "inactive" && state != "failed", nil
}

// hasJob reports whether the property Job names a job. It is a structure of the
// job's number, which is 0 for none, and its path.
func hasJob(property dbus.Variant) bool {
	job, _ := property.Value().([]any)
	if len(job) == 0 {
		return false
	}
	number, _ := job[0].(uint32)
	return number != 0
}

func unreachable(format string, args ...any) error {
	return Fail(v1alpha1.ReasonHostUnreachable, format, args...)
}

func isDBusError(err error, name string) bool {
	var e dbus.Error
	return errors.As(err, &e) && e.Name == name
}
