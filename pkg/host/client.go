package host

import (
	"context"
)

// Client has verbs run on the node. It connects to the system bus when it is
// first needed, and again when the bus went away.
type Client struct {
	root, bus string
}

// NewClient makes a Client for the folder that pod and node share (Root) and
// the bus at that D-Bus address; an empty address is SystemBus.
func NewClient(root, busAddress string) *Client { return &Client{root: root, bus: busAddress} }

// Start has the node run a verb. It does nothing when that verb is running
// already, whatever it was asked for. It returns once the unit is started.
func (c *Client) Start(ctx context.Context, r Request, o Options) error { return nil }

// Last says whether a verb is running, and what came of the last request: nil
// when there was none, or while it runs. A unit that ended without leaving a
// result gives one that says so.
func (c *Client) Last(ctx context.Context, v Verb) (running bool, last *Result, err error) {
	return false, nil, nil
}

// Changes tells of every verb whose unit changed its state, until ctx ends;
// then the channel is closed. Several changes may arrive as one. After the bus
// was away, every verb is reported once.
func (c *Client) Changes(ctx context.Context) (<-chan Verb, error) { return nil, nil }

// Reboot asks logind to reboot the node. No error means that logind accepted,
// not that the node will go down: only a changed boot id says that it did.
func (c *Client) Reboot(ctx context.Context) error { return nil }

// Close ends the connection to the bus.
func (c *Client) Close() error { return nil }
