package coordinator

import (
	"context"
	"net"
	"time"
)

const (
	// dialTimeout is how long a connection to an IP address may take to be made.
	dialTimeout = time.Second
	// dialPause is the pause between two attempts.
	dialPause = 200 * time.Millisecond
	// dialsFor is how long it is tried.
	dialsFor = 10 * time.Second
)

// redial connects to the API server, and tries again at once. On a node that boots the coordinator
// starts before kube-proxy has set up the address of the Service: a connection that was begun before is
// never made.
func redial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialsFor)
	defer cancel()
	dialer := net.Dialer{KeepAlive: 30 * time.Second}
	if host, _, err := net.SplitHostPort(address); err == nil && net.ParseIP(host) != nil {
		dialer.Timeout = dialTimeout // a name may have several addresses, each of which is tried
	}
	for {
		conn, err := dialer.DialContext(ctx, network, address)
		if err == nil {
			return conn, nil
		}
		select {
		case <-ctx.Done():
			return nil, err //nolint:wrapcheck // it names the address
		case <-time.After(dialPause):
		}
	}
}
