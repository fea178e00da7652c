package apitest

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

// maxServers is how many tests of a package run at once, each with a server of its own. A server
// needs 300 MiB.
const maxServers = 6

// shared are the servers of a package whose TestMain is Main. One starts when a test asks for it
// and none is free, so that tests which run one after the other have the same.
var shared pool

type pool struct {
	mu  sync.Mutex
	on  bool
	all []*pooled
}

type pooled struct {
	user    string        // the test that has it; empty: none
	uses    int           // how often the test and its subtests took it
	started chan struct{} // closed when server or err is there
	server  *server
	err     error
}

// take returns the server that the test of this name or one above it has already, or else one
// that no test has.
func (p *pool) take(test string) (*pooled, error) {
	one, begin := p.pick(test)
	if begin {
		one.server, one.err = newServer()
		close(one.started)
	}
	<-one.started
	return one, one.err
}

func (p *pool) pick(test string) (one *pooled, begin bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	has := func(one *pooled) bool {
		return one.user != "" && (one.user == test || strings.HasPrefix(test, one.user+"/"))
	}
	isFree := func(one *pooled) bool { return one.user == "" }
	for _, usable := range []func(*pooled) bool{has, isFree} {
		if i := slices.IndexFunc(p.all, usable); i >= 0 {
			one = p.all[i]
			one.user = cmp.Or(one.user, test)
			one.uses++
			return one, false
		}
	}
	one = &pooled{user: test, uses: 1, started: make(chan struct{})}
	p.all = append(p.all, one)
	return one, true
}

// give ends one use.
func (p *pool) give(one *pooled) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one.uses--; one.uses == 0 {
		one.user = ""
	}
}

func (p *pool) stop() {
	for _, one := range p.all {
		if one.err == nil {
			one.server.Stop()
		}
	}
}
