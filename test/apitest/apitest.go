package apitest

import (
	"os"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
)

// shared is the server of a package whose TestMain is Main. It starts with the
// first test that asks for it.
var shared struct {
	sync.Mutex
	on     bool
	server *server
	err    error
}

// Main runs a package's tests with one API server among them.
func Main(m *testing.M) { os.Exit(Run(m)) }

// Run is Main for a TestMain that has more to do; it returns the exit code.
func Run(m *testing.M) int {
	shared.on = true
	code := m.Run()
	if shared.server != nil {
		shared.server.stop()
	}
	return code
}

// Start returns the configuration of a cluster administrator: of the package's
// server where TestMain is Main, otherwise of one for this test alone.
func Start(t testing.TB) *rest.Config {
	t.Helper()
	if !shared.on {
		s, err := newServer()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.stop)
		return rest.CopyConfig(s.config)
	}
	shared.Lock()
	defer shared.Unlock()
	if shared.server == nil && shared.err == nil {
		shared.server, shared.err = newServer()
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return rest.CopyConfig(shared.server.config)
}
