package serve

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// apiserver stands for one: it says its name, and whether it is ready.
type apiserver struct {
	*httptest.Server
	address string
	unready atomic.Bool
}

func newAPIServer(t *testing.T, name string) *apiserver {
	t.Helper()
	a := &apiserver{}
	a.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/readyz" && a.unready.Load() {
			w.WriteHeader(http.StatusInternalServerError)
		}
		io.WriteString(w, name)
	}))
	a.address = strings.TrimPrefix(a.URL, "https://")
	t.Cleanup(a.Close)
	return a
}

func startBalancer(t *testing.T, state string) (b *balancer, url string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	b = newBalancer(state)
	ended := make(chan error, 1)
	go func() { ended <- b.serve(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("the balancer ended with: %v", err)
			}
		case <-time.After(5 * time.Second):
			t.Error("the balancer did not end")
		}
	})
	return b, "https://" + listener.Addr().String()
}

func setBackends(t *testing.T, state string, addresses ...string) {
	t.Helper()
	if err := SetBackends(state, addresses); err != nil {
		t.Fatal(err)
	}
}

// answers asks n times, each over a new connection, and counts who answered.
func answers(t *testing.T, url string, n int) map[string]int {
	t.Helper()
	client := readyClient()
	counts := map[string]int{}
	for range n {
		response, err := client.Get(url)
		if err != nil {
			counts["nobody"]++
			continue
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		counts[string(body)]++
	}
	return counts
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 10 s: %s", what)
		}
	}
}

func (p *pool) is(address string, want health) func() bool {
	return func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.health[address] == want
	}
}

func TestBalancerSpreadsAndFailsOver(t *testing.T) {
	state := t.TempDir()
	one, two := newAPIServer(t, "one"), newAPIServer(t, "two")
	setBackends(t, state, one.address, two.address)
	b, url := startBalancer(t, state)
	eventually(t, "both are ready", func() bool { return b.pool.is(one.address, ready)() && b.pool.is(two.address, ready)() })
	if diff := cmp.Diff(map[string]int{"one": 3, "two": 3}, answers(t, url, 6)); diff != "" {
		t.Errorf("two living ones (-want +got):\n%s", diff)
	}
	one.Close()
	if diff := cmp.Diff(map[string]int{"two": 6}, answers(t, url, 6)); diff != "" {
		t.Errorf("just after one died (-want +got):\n%s", diff)
	}
	three := newAPIServer(t, "three")
	setBackends(t, state, three.address)
	if diff := cmp.Diff(map[string]int{"three": 4}, answers(t, url, 4)); diff != "" {
		t.Errorf("after the list changed (-want +got):\n%s", diff)
	}
}

func TestBalancerPrefersReadyOnes(t *testing.T) {
	state := t.TempDir()
	one, two := newAPIServer(t, "one"), newAPIServer(t, "two")
	one.unready.Store(true)
	setBackends(t, state, one.address, two.address)
	b, url := startBalancer(t, state)
	eventually(t, "both are known", func() bool { return b.pool.is(one.address, unready)() && b.pool.is(two.address, ready)() })
	if diff := cmp.Diff(map[string]int{"two": 4}, answers(t, url, 4)); diff != "" {
		t.Errorf("one of two is ready (-want +got):\n%s", diff)
	}
	two.Close()
	if diff := cmp.Diff(map[string]int{"one": 4}, answers(t, url, 4)); diff != "" {
		t.Errorf("none is ready, one answers (-want +got):\n%s", diff)
	}
}

func TestBalancerCutsConnectionsToTheDead(t *testing.T) {
	state := t.TempDir()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	go func() { // accepts, and never says a word, as a node without power
		for {
			if _, err := silent.Accept(); err != nil {
				return
			}
		}
	}()
	setBackends(t, state, silent.Addr().String())
	_, url := startBalancer(t, state)
	client, err := net.Dial("tcp", strings.TrimPrefix(url, "https://"))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.SetReadDeadline(time.Now().Add(15 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("reading from a dead backend: %v, want the connection cut", err)
	}
}

func TestSetBackendsRefuses(t *testing.T) {
	if err := SetBackends(t.TempDir(), []string{"10.88.0.11"}); err == nil {
		t.Error("an address without port was taken")
	}
}
