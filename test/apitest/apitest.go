package apitest

import (
	"context"
	"flag"
	"os"
	"strconv"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/test/apiserver"
)

// server is an API server that Fresh brings back to what it was.
type server struct {
	*apiserver.Server
	baseline map[string]pair // what was in etcd after the setup
}

func newServer(flags ...string) (*server, error) {
	s, err := apiserver.New(context.Background(), Program, flags...)
	return &server{Server: s}, err
}

// Main runs a package's tests with API servers among them.
func Main(m *testing.M) { os.Exit(Run(m)) }

// Run is Main for a TestMain that has more to do; it returns the exit code.
func Run(m *testing.M) int {
	shared.on = true
	// Tests with an API server mostly wait, so their number does not depend on that of CPUs.
	if err := flag.Set("test.parallel", strconv.Itoa(maxServers)); err != nil {
		panic(err) // the flag is gone from package testing
	}
	code := m.Run()
	shared.stop()
	return code
}

// Start returns the configuration of a cluster administrator. Where TestMain is Main, the server
// is one of the package's, and no other test uses it until this one ends; otherwise it is one
// for this test alone.
func Start(t testing.TB) *rest.Config {
	t.Helper()
	return rest.CopyConfig(start(t).Config)
}

// Fresh is Start for a server that has nothing but what setup made, which is called once for each
// server. All tests of a package that call Fresh have the same setup.
func Fresh(t testing.TB, setup func(*rest.Config)) *rest.Config {
	t.Helper()
	s := start(t)
	if err := s.reset(func() { setup(rest.CopyConfig(s.Config)) }); err != nil {
		t.Fatal(err)
	}
	return rest.CopyConfig(s.Config)
}

func start(t testing.TB) *server {
	t.Helper()
	Path(t, "kube-apiserver")
	if !shared.on {
		s, err := newServer()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Stop)
		return s
	}
	one, err := shared.take(t.Name())
	t.Cleanup(func() { shared.give(one) })
	if err != nil {
		t.Fatal(err)
	}
	return one.server
}
