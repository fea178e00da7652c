package host

import (
	"context"
	"slices"
	"time"

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

// Changes returns every Change as it happens, until ctx ends; then the channel is
// closed. Several changes may arrive as one. Each that there can be is reported
// once in the beginning and after the bus was away, as what happened meanwhile is
// not known.
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

// follow hands changes on. Those that were not taken yet wait in pending, each
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
