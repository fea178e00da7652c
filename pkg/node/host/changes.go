package host

import (
	"context"
	"slices"
	"time"

	systemdbus "github.com/coreos/go-systemd/v22/dbus"
	"github.com/godbus/dbus/v5"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// redialInterval is the pause between attempts to reconnect to the bus.
const redialInterval = time.Second

// Change is a state change of a verb's unit, or of Flatcar's update_engine.
type Change struct {
	Verb         verb.Verb
	UpdateEngine bool
}

// Changes returns a channel of changes, which is closed when ctx ends. Several
// equal changes may arrive as one. At the beginning and after each reconnection the
// channel delivers every possible Change once, as changes may have been missed.
func (c *Client) Changes(ctx context.Context) (<-chan Change, error) {
	sub, err := c.subscribe(ctx)
	if err != nil {
		return nil, err
	}
	out := make(chan Change)
	go c.follow(ctx, sub, out)
	return out, nil
}

// allChanges returns every possible Change.
func (c *Client) allChanges() []Change {
	changes := []Change{{UpdateEngine: true}}
	for v := range c.failures {
		changes = append(changes, Change{Verb: v})
	}
	return changes
}

// follow sends changes to out. pending has those that were not received yet, each
// once.
func (c *Client) follow(ctx context.Context, sub *subscription, out chan<- Change) {
	defer close(out)
	pending := c.allChanges()
	for {
		var ready chan<- Change
		var next Change
		if len(pending) > 0 {
			ready, next = out, pending[0]
		}
		select {
		case <-ctx.Done():
			_ = sub.conn.Close()
			return
		case ready <- next:
			pending = pending[1:]
		case signal, ok := <-sub.signals:
			if !ok {
				if sub = c.resubscribe(ctx); sub == nil {
					return
				}
				pending = c.allChanges()
			} else if change, ok := c.changed(sub, signal); ok && !slices.Contains(pending, change) {
				pending = append(pending, change)
			}
		}
	}
}

// resubscribe retries until it succeeds. It returns nil if ctx ends.
func (c *Client) resubscribe(ctx context.Context) *subscription {
	for {
		if sub, err := c.subscribe(ctx); err == nil {
			return sub
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(redialInterval):
		}
	}
}

// subscription is a connection that is used for signals only.
type subscription struct {
	conn    *dbus.Conn
	signals chan *dbus.Signal
	// engine is update_engine's status in its last signal.
	engine string
}

func (c *Client) subscribe(ctx context.Context) (*subscription, error) {
	conn, err := c.dial(ctx)
	if err != nil {
		return nil, err
	}
	sub := &subscription{conn: conn, signals: make(chan *dbus.Signal, 16)}
	conn.Signal(sub.signals)
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	if err := c.match(ctx, conn); err != nil {
		_ = conn.Close()
		return nil, unreachable("subscribing to systemd's signals: %w", err)
	}
	return sub, nil
}

// match subscribes to the signals of the verbs' units and of update_engine only.
// systemd sends no signals before Subscribe is called.
func (c *Client) match(ctx context.Context, conn *dbus.Conn) error {
	for v := range c.failures {
		rules := [][]dbus.MatchOption{
			{dbus.WithMatchInterface(managerInterface), dbus.WithMatchMember("UnitNew"), dbus.WithMatchArg(0, Unit(v))},
			{dbus.WithMatchInterface(managerInterface), dbus.WithMatchMember("UnitRemoved"), dbus.WithMatchArg(0, Unit(v))},
			{dbus.WithMatchInterface(propertiesInterface), dbus.WithMatchObjectPath(unitPath(Unit(v)))},
		}
		for _, rule := range rules {
			if err := conn.AddMatchSignalContext(ctx, append(rule, dbus.WithMatchSender(systemd.name))...); err != nil {
				return err
			}
		}
	}
	if err := conn.AddMatchSignalContext(ctx, statusUpdate...); err != nil {
		return err
	}
	return conn.Object(systemd.name, systemd.path).CallWithContext(ctx, managerInterface+".Subscribe", 0).Err
}

func unitPath(unit string) dbus.ObjectPath {
	return dbus.ObjectPath("/org/freedesktop/systemd1/unit/" + systemdbus.PathBusEscape(unit))
}

// changed returns the Change that a signal reports, and false if it reports none.
func (c *Client) changed(sub *subscription, s *dbus.Signal) (Change, bool) {
	if status, ok := engineStatus(s); ok {
		before := sub.engine
		sub.engine = status
		return Change{UpdateEngine: true}, status != before
	}
	for v := range c.failures {
		if s.Path == unitPath(Unit(v)) || len(s.Body) > 0 && s.Body[0] == Unit(v) {
			return Change{Verb: v}, true
		}
	}
	return Change{}, false
}

// UpdateEngineNeedReboot is update_engine's status after it has installed an
// update of the operating system, which takes effect with the next boot.
const UpdateEngineNeedReboot = "UPDATE_STATUS_UPDATED_NEED_REBOOT"

const updateEngineInterface = "com.coreos.update1.Manager"

// UpdateEngine returns the status of Flatcar's update_engine, such as
// UPDATE_STATUS_IDLE or UpdateEngineNeedReboot. The status is empty if
// update_engine does not run, because it is masked or the node does not run
// Flatcar. The call does not start update_engine.
func (c *Client) UpdateEngine(ctx context.Context) (status string, err error) {
	bus, err := c.connected(ctx)
	if err != nil {
		return "", err
	}
	call := bus.Object(updateEngine.name, updateEngine.path).
		CallWithContext(ctx, updateEngineInterface+".GetStatus", dbus.FlagNoAutoStart)
	if isDBusError(call.Err, "org.freedesktop.DBus.Error.NameHasNoOwner") || isDBusError(call.Err, "org.freedesktop.DBus.Error.ServiceUnknown") {
		return "", nil
	}
	var (
		checkedAt, size int64
		progress        float64
		version         string
	)
	if err := call.Store(&checkedAt, &progress, &status, &version, &size); err != nil {
		return "", unreachable("asking update_engine for its status: %w", err)
	}
	return status, nil
}

// statusUpdate matches the signal that update_engine sends whenever its status
// or its progress changes. The sender is not checked: a signal only causes the
// agent to query the status.
var statusUpdate = []dbus.MatchOption{
	dbus.WithMatchInterface(updateEngineInterface),
	dbus.WithMatchMember("StatusUpdate"),
	dbus.WithMatchObjectPath(updateEngine.path),
}

// engineStatus returns the status in a StatusUpdate signal, whose body has the
// same fields as the reply to GetStatus.
func engineStatus(s *dbus.Signal) (string, bool) {
	if s.Name != updateEngineInterface+".StatusUpdate" || len(s.Body) < 3 {
		return "", false
	}
	status, ok := s.Body[2].(string)
	return status, ok
}
