// Package network is the lab's one network: a bridge, an address for each
// node on it, and a subnet of pods behind each node. Every address
// follows from a node's name, so none is allocated or stored.
//
// Nothing is translated, and a node reaches only the lab. There are firewall rules of
// the lab only while it is up, and only on a machine that otherwise drops its packets.
package network

import (
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
)

const (
	// Bridge is the interface that holds all nodes together.
	Bridge = "labbr0"
	// Host is the machine's own address on the bridge.
	Host = "10.88.0.1"
	// Pods holds the pods of all nodes.
	Pods = "10.244.0.0/16"
	// prefixLength is that of the bridge's subnet, and of each node's pods.
	prefixLength = 24
)

// Limits of the address plan: control planes are .11 to .13, workers .21 on.
const (
	firstControlPlane = 11
	firstWorker       = 21
	MaxControlPlanes  = 3
	MaxWorkers        = 99
)

var subnet = netip.MustParsePrefix(Host + "/" + strconv.Itoa(prefixLength))

// Endpoint is a node as the network sees it.
type Endpoint struct {
	Name    string
	Address netip.Addr
	Pods    netip.Prefix
}

// ControlPlane is the nth control plane node, from 1.
func ControlPlane(n int) Endpoint { return endpoint("cp", n, firstControlPlane) }

// Worker is the nth worker, from 1.
func Worker(n int) Endpoint { return endpoint("w", n, firstWorker) }

func endpoint(prefix string, n, first int) Endpoint {
	octet := byte(first + n - 1) //nolint:gosec // a lab has few nodes
	return Endpoint{
		Name:    prefix + strconv.Itoa(n),
		Address: netip.AddrFrom4([4]byte{10, 88, 0, octet}),
		Pods:    netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 244, octet, 0}), prefixLength),
	}
}

var nodeName = regexp.MustCompile(`^(cp|w)([1-9][0-9]?)$`)

// Lookup finds a node by its name: cp1 to cp3, or w1 and so on.
func Lookup(name string) (Endpoint, error) {
	parts := nodeName.FindStringSubmatch(name)
	if parts == nil {
		return Endpoint{}, fmt.Errorf("%q is no node's name: they are cp1, cp2… and w1, w2…", name)
	}
	n, err := strconv.Atoi(parts[2])
	if err != nil {
		return Endpoint{}, err
	}
	if parts[1] == "w" {
		return Worker(n), nil
	}
	if n > MaxControlPlanes {
		return Endpoint{}, fmt.Errorf("%q is no node's name: there are at most %d control planes", name, MaxControlPlanes)
	}
	return ControlPlane(n), nil
}
