package host

import (
	"os"
	"strings"
)

// HasDefaultRoute reports whether the node has a default route (proc(5), net/route;
// the kernel's ipv6_route). Rejecting routes, which IPv6 always has, do not count.
func (l Layout) HasDefaultRoute() bool {
	const rejecting = "lo" // such routes are on the loopback device
	for _, r := range l.routes("/proc/net/route") {
		if len(r) >= 8 && r[1] == "00000000" && r[7] == "00000000" {
			return true
		}
	}
	for _, r := range l.routes("/proc/net/ipv6_route") {
		if len(r) == 10 && strings.Trim(r[0]+r[1], "0") == "" && r[9] != rejecting {
			return true
		}
	}
	return false
}

func (l Layout) routes(file string) [][]string {
	text, err := os.ReadFile(l.At(file))
	if err != nil {
		return nil
	}
	var routes [][]string
	for line := range strings.Lines(string(text)) {
		routes = append(routes, strings.Fields(line))
	}
	return routes
}
