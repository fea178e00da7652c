package host

import (
	"context"
	"slices"
	"time"

	"github.com/coreos/go-systemd/v22/dbus"
	bus "github.com/godbus/dbus/v5"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/verb"
)

// redialEvery is the pause between attempts to reach a bus that went away.
const redialEvery = time.Second

// Change is a verb whose unit changed its state, or another status of Flatcar's
// update_engine.
type Change struct {
	Verb         verb.Verb
	UpdateEngine bool
}

// Changes tells of every Change, until ctx ends; then the channel is closed.
// Several changes may arrive as one. Each that there can be is reported once in
// the beginning and after the bus was away, as what happened meanwhile is not
// known.
func (c *Client) Changes(ctx context.Context) (<-chan Change, error) {
	sub, err := c.subscribe(ctx)
	if err != nil {
		return nil, err
	}
	out := make(chan Change)
	go c.follow(ctx, sub, out)
	return out, nil
}

// every returns each Change that there can be.
func (c *Client) every() []Change {
	changes := []Change{{UpdateEngine: true}}
	for v := range c.failures {
		changes = append(changes, Change{Verb: v})
	}
	return changes
}

// subscription is a connection of its own, and the signals that arrive on it.
type subscription struct {
	conn    *bus.Conn
	signals chan *bus.Signal
	// engine is update_engine's status as it was told last.
	engine string
}

// follow hands changes on. Those that nobody has taken yet wait in pending, each
// once.
func (c *Client) follow(ctx context.Context, sub *subscription, out chan<- Change) {
	defer close(out)
	pending := c.every()
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
				pending = c.every()
			} else if change, ok := c.changed(sub, signal); ok && !slices.Contains(pending, change) {
				pending = append(pending, change)
			}
		}
	}
}

// resubscribe tries until it works; nil when ctx ends.
func (c *Client) resubscribe(ctx context.Context) *subscription {
	for {
		if sub, err := c.subscribe(ctx); err == nil {
			return sub
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(redialEvery):
		}
	}
}

func (c *Client) subscribe(ctx context.Context) (*subscription, error) {
	conn, err := c.dial(ctx)
	if err != nil {
		return nil, err
	}
	sub := &subscription{conn: conn, signals: make(chan *bus.Signal, 16)}
	conn.Signal(sub.signals)
	if err := c.match(ctx, conn); err != nil {
		_ = conn.Close()
		return nil, unreachable("subscribing to systemd's signals: %w", err)
	}
	return sub, nil
}

// match asks for the signals of our units and of update_engine only. systemd
// sends none before somebody has called Subscribe.
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

// changed returns the Change that a signal is about.
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
