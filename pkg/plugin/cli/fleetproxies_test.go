package cli_test

import (
	"fmt"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// slowProxy is a way to an API server, with a latency.
type slowProxy struct {
	address string
	latency time.Duration
	silent  atomic.Bool // it accepts, and never answers
}

// openProxy opens a way to the server.
func openProxy(t *testing.T, to string, latency time.Duration, silent bool) *slowProxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	p := &slowProxy{address: listener.Addr().String(), latency: latency}
	p.silent.Store(silent)
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go p.pass(client, to)
		}
	}()
	return p
}

// pass passes what both sides say, each piece later by half of the latency.
func (p *slowProxy) pass(client net.Conn, to string) {
	defer client.Close()
	server, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer server.Close()
	go p.copy(server, client)
	p.copy(client, server)
}

// piece is what one side said, and when the other side hears it.
type piece struct {
	text []byte
	at   time.Time
}

func (p *slowProxy) copy(to io.WriteCloser, from io.Reader) {
	defer to.Close()
	pieces := make(chan piece, 1024)
	go func() {
		defer close(pieces)
		for {
			buffer := make([]byte, 32<<10)
			n, err := from.Read(buffer)
			if n > 0 {
				pieces <- piece{buffer[:n], time.Now().Add(p.latency / 2)}
			}
			if err != nil {
				return
			}
		}
	}()
	for one := range pieces {
		time.Sleep(time.Until(one.at))
		if p.silent.Load() {
			continue
		}
		if _, err := to.Write(one.text); err != nil {
			return
		}
	}
}

// fleetKubeconfig writes a kubeconfig with a context for each name, which goes through its proxy.
func fleetKubeconfig(t *testing.T, config *rest.Config, names []string, proxies []*slowProxy) string {
	t.Helper()
	base, err := clientcmd.LoadFromFile(apitest.Kubeconfig(t, config))
	if err != nil {
		t.Fatal(err)
	}
	context := base.Contexts[base.CurrentContext]
	file := clientcmdapi.NewConfig()
	file.AuthInfos[context.AuthInfo] = base.AuthInfos[context.AuthInfo]
	for i, name := range names {
		cluster := base.Clusters[context.Cluster].DeepCopy()
		cluster.Server = "https://" + proxies[i].address
		file.Clusters[name] = cluster
		file.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: context.AuthInfo}
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// hostOf returns the address of the server.
func hostOf(t *testing.T, config *rest.Config) string {
	t.Helper()
	server, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	return server.Host
}

// proxied opens a proxy for each of the names; those for which silent reports true never answer.
func proxied(t *testing.T, config *rest.Config, count int, latency time.Duration, silent func(int) bool) (names []string, proxies []*slowProxy) {
	t.Helper()
	for i := range count {
		names = append(names, fmt.Sprintf("prod-%03d", i))
		proxies = append(proxies, openProxy(t, hostOf(t, config), latency, silent(i)))
	}
	return names, proxies
}
