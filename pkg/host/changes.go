package host

import (
	"context"
	"slices"
	"time"

	"github.com/coreos/go-systemd/v22/dbus"
	bus "github.com/godbus/dbus/v5"
)

// redialEvery is the pause between attempts to reach a bus that went away.
const redialEvery = time.Second

// Changes tells of every verb whose unit changed its state, until ctx ends;
// then the channel is closed. Several changes may arrive as one. Every verb is
// reported once in the beginning and after the bus was away, as what happened
// meanwhile is not known. Another status of Flatcar's update_engine is told as
// a change of VerbFacts: it is a fact, though the verb does not gather it.
func (c *Client) Changes(ctx context.Context) (<-chan Verb, error) {
	sub, err := c.subscribe(ctx)
	if err != nil {
		return nil, err
	}
	out := make(chan Verb)
	go c.follow(ctx, sub, out)
	return out, nil
}

// subscription is a connection of its own, and the signals that arrive on it.
type subscription struct {
	conn    *bus.Conn
	signals chan *bus.Signal
	// engine is update_engine's status as it was told last.
	engine string
}

// follow hands changes on. Those that nobody has taken yet wait in pending,
// each verb once.
func (c *Client) follow(ctx context.Context, sub *subscription, out chan<- Verb) {
	defer close(out)
	pending := slices.Clone(Verbs)
	for {
		var ready chan<- Verb
		var next Verb
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
				pending = slices.Clone(Verbs)
			} else if v, ok := sub.changed(signal); ok && !slices.Contains(pending, v) {
				pending = append(pending, v)
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
	if err := match(ctx, conn); err != nil {
		_ = conn.Close()
		return nil, unreachable("subscribing to systemd's signals: %w", err)
	}
	return sub, nil
}

// match asks for the signals of our units and of update_engine only. systemd
// sends none before somebody has called Subscribe.
func match(ctx context.Context, conn *bus.Conn) error {
	for _, v := range Verbs {
		rules := [][]bus.MatchOption{
			{bus.WithMatchInterface(managerInterface), bus.WithMatchMember("UnitNew"), bus.WithMatchArg(0, v.Unit())},
			{bus.WithMatchInterface(managerInterface), bus.WithMatchMember("UnitRemoved"), bus.WithMatchArg(0, v.Unit())},
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

func unitPath(v Verb) bus.ObjectPath {
	return bus.ObjectPath("/org/freedesktop/systemd1/unit/" + dbus.PathBusEscape(v.Unit()))
}

// changed is the verb that a signal is about.
func (sub *subscription) changed(s *bus.Signal) (Verb, bool) {
	if status, ok := engineStatus(s); ok {
		before := sub.engine
		sub.engine = status
		return VerbFacts, status != before
	}
	for _, v := range Verbs {
		if s.Path == unitPath(v) {
			return v, true
		}
	}
	if len(s.Body) == 0 {
		return "", false
	}
	unit, _ := s.Body[0].(string)
	return verbOf(unit)
}
