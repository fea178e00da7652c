package network

import (
	"net/netip"
	"testing"
)

func TestEveryNodeHasItsOwnAddresses(t *testing.T) {
	nodes := []Endpoint{}
	for n := 1; n <= MaxControlPlanes; n++ {
		nodes = append(nodes, ControlPlane(n))
	}
	for n := 1; n <= MaxWorkers; n++ {
		nodes = append(nodes, Worker(n))
	}
	pods := netip.MustParsePrefix(Pods)
	seen := map[netip.Addr]string{subnet.Addr(): "the bridge"}
	for _, node := range nodes {
		if other, taken := seen[node.Address]; taken {
			t.Errorf("%s and %s share %s", node.Name, other, node.Address)
		}
		seen[node.Address] = node.Name
		if !subnet.Contains(node.Address) || !pods.Overlaps(node.Pods) || pods.Bits() > node.Pods.Bits() {
			t.Errorf("%+v is outside of the lab's network", node)
		}
		if found, err := Lookup(node.Name); err != nil || found != node {
			t.Errorf("Lookup(%q) = %+v, %v", node.Name, found, err)
		}
		if port := Port(node.Name); len(port) > 15 {
			t.Errorf("%q is too long for an interface's name", port)
		}
	}
}

func TestAddressPlan(t *testing.T) {
	for name, want := range map[string]Endpoint{
		"cp1": {"cp1", netip.MustParseAddr("10.88.0.11"), netip.MustParsePrefix("10.244.11.0/24")},
		"w2":  {"w2", netip.MustParseAddr("10.88.0.22"), netip.MustParsePrefix("10.244.22.0/24")},
	} {
		if got, err := Lookup(name); got != want || err != nil {
			t.Errorf("Lookup(%q) = %+v, %v", name, got, err)
		}
	}
	for _, name := range []string{"", "cp0", "cp4", "w", "w0", "w100", "x1", "w1/..", "w01"} {
		if got, err := Lookup(name); err == nil {
			t.Errorf("Lookup(%q) = %+v, want an error", name, got)
		}
	}
}
