package host

import (
	"context"
	"slices"
	"time"

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
