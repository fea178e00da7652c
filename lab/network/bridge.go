package network

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// bridgeMAC is fixed, because a bridge otherwise takes the lowest address of
// its ports: it would change whenever a node reboots, and every other node
// would lose the way to the apiservers until its ARP table caught up.
const bridgeMAC = "02:6c:61:62:00:01"

// Up makes the bridge and the routes to the nodes' pods. owner is written on
// the bridge, and a bridge with another owner is an error. Up may be called
// again.
func Up(ctx context.Context, owner string, nodes []Endpoint) error {
	if err := subnetIsFree(); err != nil {
		return err
	}
	if err := routesAreFree(ctx); err != nil {
		return err
	}
	switch current, exists := Owner(); {
	case !exists:
		if err := ip(ctx, "link", "add", Bridge, "address", bridgeMAC, "type", "bridge"); err != nil {
			return err
		}
	case current != "" && current != owner:
		return fmt.Errorf("the lab in %s is up: take it down with `LAB_STATE=%s lab down` first", current, current)
	}
	steps := [][]string{
		{"link", "set", Bridge, "alias", owner},
		{"addr", "replace", netip.PrefixFrom(subnet.Addr(), prefixLength).String(), "dev", Bridge},
		{"link", "set", Bridge, "up"},
	}
	for _, node := range nodes {
		steps = append(steps, []string{"route", "replace", node.Pods.String(), "via", node.Address.String(), "dev", Bridge})
	}
	for _, step := range steps {
		if err := ip(ctx, step...); err != nil {
			return err
		}
	}
	return nil
}

// Down removes the bridge, and with it its routes, if this owner made it.
func Down(ctx context.Context, owner string) error {
	current, exists := Owner()
	if !exists || (current != "" && current != owner) {
		return nil
	}
	return ip(ctx, "link", "delete", Bridge)
}

// Owner returns the owner of the bridge. It is empty while Up makes it.
func Owner() (owner string, exists bool) {
	alias, err := os.ReadFile(filepath.Join("/sys/class/net", Bridge, "ifalias"))
	if err != nil {
		return "", false
	}
	return strings.TrimSpace(string(alias)), true
}

// subnetIsFree looks for another interface in the lab's subnet: podman's
// default network has the same addresses.
func subnetIsFree() error {
	interfaces, err := net.Interfaces()
	if err != nil {
		return fmt.Errorf("listing network interfaces: %w", err)
	}
	for _, i := range interfaces {
		addresses, err := i.Addrs()
		if err != nil || i.Name == Bridge {
			continue
		}
		for _, address := range addresses {
			if prefix, err := netip.ParsePrefix(address.String()); err == nil && prefix.Masked().Overlaps(subnet) {
				return fmt.Errorf("interface %s has %s, which the lab needs: remove it first (podman uses the same for its default network)", i.Name, prefix)
			}
		}
	}
	return nil
}

// routesAreFree looks for other routes into the lab's networks: a Kubernetes node's
// pods often have the same addresses, and Up would replace their routes.
func routesAreFree(ctx context.Context) error {
	for _, network := range []string{subnet.Masked().String(), Pods} {
		routes, err := run(ctx, "ip", "-4", "-o", "route", "show", "root", network)
		if err != nil {
			return err
		}
		for route := range strings.Lines(routes) {
			if !strings.Contains(route, " dev "+Bridge+" ") {
				return fmt.Errorf("there is a route into %s, which the lab needs: remove it first, with what made it (%s)", network, strings.TrimSpace(route))
			}
		}
	}
	return nil
}

func ip(ctx context.Context, args ...string) error {
	_, err := run(ctx, "ip", args...)
	return err
}

func run(ctx context.Context, program string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("running %s %s: %w: %s", program, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return string(out), nil
}
