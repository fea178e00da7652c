package guard

import (
	"context"
	"errors"
	"net"
	"net/url"

	"golang.org/x/sys/unix"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// checkNetwork returns a sentence if the node has lost its default route, or has no route
// to the API server. It sends nothing: connecting a UDP socket only looks up the route
// (udp(7)). A server that is named, and not an address, shows nothing.
func checkNetwork(ctx context.Context, l host.Layout, hadDefaultRoute bool, server string) string {
	if hadDefaultRoute && !l.HasDefaultRoute() {
		return "the node has no network: its default route is gone"
	}
	address, err := url.Parse(server)
	if err != nil || net.ParseIP(address.Hostname()) == nil {
		return ""
	}
	conn, err := new(net.Dialer).DialContext(ctx, "udp", net.JoinHostPort(address.Hostname(), "443"))
	if err == nil {
		_ = conn.Close()
		return ""
	}
	if errors.Is(err, unix.ENETUNREACH) || errors.Is(err, unix.EHOSTUNREACH) || errors.Is(err, unix.EADDRNOTAVAIL) {
		return "the node has no network: there is no route to the API server at " + address.Hostname()
	}
	return ""
}
