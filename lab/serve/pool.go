package serve

import (
	"net"
	"sync"
)

// health is the state of a backend.
type health int

const (
	unknown health = iota
	ready          // answers and is ready
	unready        // answers, and says that it is not ready
	dead           // does not answer
)

// pool holds the health of backends, and the connections to them. The zero pool is
// empty.
type pool struct {
	mu          sync.Mutex
	health      map[string]health
	connections map[string]map[net.Conn]net.Conn // backend's address -> client -> backend
	turn        int
}

// order sorts backends for one connection: the ready ones first, beginning
// with the next in turn, then those that may work, the dead ones last.
func (p *pool) order(addresses []string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turn++
	ordered := make([]string, 0, len(addresses))
	for _, wanted := range []health{ready, unknown, unready, dead} {
		var same []string
		for _, address := range addresses {
			if p.health[address] == wanted {
				same = append(same, address)
			}
		}
		for i := range same {
			ordered = append(ordered, same[(i+p.turn)%len(same)])
		}
	}
	return ordered
}

// set records a backend's health. Connections to a dead one are cut.
func (p *pool) set(address string, now health) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.health == nil {
		p.health = map[string]health{}
	}
	p.health[address] = now
	if now != dead {
		return
	}
	for client, backend := range p.connections[address] {
		client.Close()
		backend.Close()
	}
}

// demote makes the next clients try other backends first. One failed connection
// does not prove that a backend is dead; the probes decide that.
func (p *pool) demote(address string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.health[address] == ready {
		p.health[address] = unready
	}
}

// track adds a connection until forget removes it.
func (p *pool) track(address string, client, backend net.Conn) (forget func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.connections == nil {
		p.connections = map[string]map[net.Conn]net.Conn{}
	}
	if p.connections[address] == nil {
		p.connections[address] = map[net.Conn]net.Conn{}
	}
	p.connections[address][client] = backend
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.connections[address], client)
	}
}
