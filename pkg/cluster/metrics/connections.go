package metrics

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"slices"
	"sync"
)

const (
	// maxConnections is how many connections are open at a time. Each costs about 64 KiB.
	maxConnections = 256
	// maxOfClient is how many of them a client may have.
	maxOfClient = 32
)

// bounded is a listener with a limited number of open connections. A connection beyond the
// limit ends another one: the oldest of the client that has most of those that are not
// trusted. So a client that opens many ends its own, and one whose token was accepted keeps
// its connection.
type bounded struct {
	net.Listener

	mutex sync.Mutex
	open  []*connection // the oldest first
}

// connection is an open connection of a bounded listener.
type connection struct {
	net.Conn
	listener *bounded
	client   netip.Prefix
	trusted  bool // its client sent a token that may read the metrics
}

// Accept implements net.Listener.
func (b *bounded) Accept() (net.Conn, error) {
	accepted, err := b.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &connection{Conn: accepted, listener: b, client: clientOf(accepted.RemoteAddr().String())}
	if surplus := b.add(c); surplus != nil {
		_ = surplus.Close()
	}
	return c, nil
}

// add adds a connection, and returns the one to close if there are too many.
func (b *bounded) add(c *connection) *connection {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.open = append(b.open, c)
	of := map[netip.Prefix]int{}
	for _, one := range b.open {
		of[one.client]++
	}
	crowd := c.client
	switch {
	case of[crowd] > maxOfClient:
	case len(b.open) > maxConnections:
		for _, one := range b.open {
			if !one.trusted && of[one.client] > of[crowd] {
				crowd = one.client
			}
		}
	default:
		return nil
	}
	oldest := slices.IndexFunc(b.open, func(one *connection) bool { return !one.trusted && one.client == crowd })
	return b.open[oldest] // there is one: c is not trusted yet
}

// Close implements net.Conn.
func (c *connection) Close() error {
	b := c.listener
	b.mutex.Lock()
	b.open = slices.DeleteFunc(b.open, func(one *connection) bool { return one == c })
	b.mutex.Unlock()
	return c.Conn.Close()
}

// connectionKey is the key of a request's connection in its context.
type connectionKey struct{}

// withConnection implements http.Server.ConnContext.
func withConnection(ctx context.Context, c net.Conn) context.Context {
	if encrypted, is := c.(*tls.Conn); is {
		c = encrypted.NetConn()
	}
	return context.WithValue(ctx, connectionKey{}, c)
}

// trust keeps the request's connection open when there are too many.
func trust(ctx context.Context) {
	c, found := ctx.Value(connectionKey{}).(*connection)
	if !found {
		return // not a connection of a bounded listener, as in a test of the handler
	}
	c.listener.mutex.Lock()
	c.trusted = true
	c.listener.mutex.Unlock()
}

// clientOf returns the client of an address with a port: an IPv4 address, or the /64 network
// of an IPv6 address, since a host may use all addresses of that network.
func clientOf(address string) netip.Prefix {
	parsed, err := netip.ParseAddrPort(address)
	if err != nil {
		return netip.Prefix{}
	}
	ip := parsed.Addr().Unmap()
	client, err := ip.WithZone("").Prefix(min(ip.BitLen(), 64))
	if err != nil {
		return netip.Prefix{}
	}
	return client
}
