package host

import (
	"context"

	"github.com/coreos/go-systemd/v22/dbus"
	bus "github.com/godbus/dbus/v5"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// subscription is a connection that is used for signals only.
type subscription struct {
	conn    *bus.Conn
	signals chan *bus.Signal
	// engine is update_engine's status in its last signal.
	engine string
}

func (c *Client) subscribe(ctx context.Context) (*subscription, error) {
	conn, err := c.dial(ctx)
	if err != nil {
		return nil, err
	}
	sub := &subscription{conn: conn, signals: make(chan *bus.Signal, 16)}
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
func (c *Client) match(ctx context.Context, conn *bus.Conn) error {
	for v := range c.failures {
		rules := [][]bus.MatchOption{
			{bus.WithMatchInterface(managerInterface), bus.WithMatchMember("UnitNew"), bus.WithMatchArg(0, Unit(v))},
			{bus.WithMatchInterface(managerInterface), bus.WithMatchMember("UnitRemoved"), bus.WithMatchArg(0, Unit(v))},
			{bus.WithMatchInterface(propertiesInterface), bus.WithMatchObjectPath(unitPath(v))},
		}
		for _, rule := range rules {
			if err := conn.AddMatchSignalContext(ctx, append(rule, bus.WithMatchSender(systemd.name))...); err != nil {
				return err
			}
		}
	}
	if err := conn.AddMatchSignalContext(ctx, statusUpdate...); err != nil {
		return err
	}
	return conn.Object(systemd.name, systemd.path).CallWithContext(ctx, managerInterface+".Subscribe", 0).Err
}

func unitPath(v verb.Verb) bus.ObjectPath {
	return bus.ObjectPath("/org/freedesktop/systemd1/unit/" + dbus.PathBusEscape(Unit(v)))
}

// changed returns the Change that a signal reports, and false if it reports none.
func (c *Client) changed(sub *subscription, s *bus.Signal) (Change, bool) {
	if status, ok := engineStatus(s); ok {
		before := sub.engine
		sub.engine = status
		return Change{UpdateEngine: true}, status != before
	}
	for v := range c.failures {
		if s.Path == unitPath(v) || len(s.Body) > 0 && s.Body[0] == Unit(v) {
			return Change{Verb: v}, true
		}
	}
	return Change{}, false
}
