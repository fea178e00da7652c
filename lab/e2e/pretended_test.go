//go:build e2e

package e2e

import (
	"bufio"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/network"
)

// labSource is the lab's source of images, as in lab/manifests/policy.yaml.
const labSource = "http://" + network.Host + ":8080/"

// startPretended starts a cluster of which only the nodes are pretended (make play), and begins to record.
// Its source of images, and its programs, are those of the lab. It ends with the test whose Cleanup is given.
func startPretended(t *testing.T, lab *testCluster, cleanup func(func())) *testCluster {
	t.Helper()
	bin := filepath.Join(lab.root, "bin")
	cmd := exec.CommandContext(lab.ctx, filepath.Join(bin, "play"), "--clusters", "1", "--nodes", "3", "--source", labSource, "--address", network.Host)
	cmd.Dir, cmd.Env = lab.root, append(os.Environ(), "KUBE_ASSETS="+assetsFolder(t))
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	cmd.Stderr = os.Stderr
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	file := make(chan string, 1)
	go func() {
		exported := regexp.MustCompile(`export KUBECONFIG=(\S+)`)
		for lines := bufio.NewScanner(output); lines.Scan(); {
			if found := exported.FindStringSubmatch(lines.Text()); found != nil {
				file <- found[1]
			}
		}
	}()
	c := &testCluster{Lab: lab.Lab, ctx: lab.ctx, root: lab.root, nodes: []string{"cp1", "w1", "w2"}, still: lab.still}
	select {
	case c.Kubeconfig = <-file:
	case <-time.After(3 * time.Minute):
		t.Fatal("bin/play has not started a cluster within three minutes")
	}
	c.connect(t)
	return c
}

// assetsFolder is where the programs of the lab's first version are: etcd, kube-apiserver and kubectl.
func assetsFolder(t *testing.T) string {
	t.Helper()
	cache := env("LAB_CACHE", "/var/cache/kubectl-upgrade-lab")
	return filepath.Join(cache, "assets-"+from)
}

// mergeKubeconfigs writes a kubeconfig with a context for each of the files.
func mergeKubeconfigs(t *testing.T, to string, files map[string]string) {
	t.Helper()
	all := api.NewConfig()
	for name, file := range files {
		one, err := clientcmd.LoadFromFile(file)
		if err != nil {
			t.Fatal(err)
		}
		context := one.Contexts[one.CurrentContext]
		all.Clusters[name], all.AuthInfos[name] = one.Clusters[context.Cluster], one.AuthInfos[context.AuthInfo]
		all.Contexts[name] = &api.Context{Cluster: name, AuthInfo: name}
	}
	if err := clientcmd.WriteToFile(*all, to); err != nil {
		t.Fatal(err)
	}
}

// forwarder forwards connections to an address until it is cut.
type forwarder struct {
	address, to string

	mu       sync.Mutex
	listener net.Listener
	open     []net.Conn
}

// startForwarder forwards from a free port of an address of this machine, until the test ends whose Cleanup
// is given.
func startForwarder(t *testing.T, cleanup func(func()), from, to string) *forwarder {
	t.Helper()
	f := &forwarder{address: net.JoinHostPort(from, "0"), to: to}
	f.mend(t)
	cleanup(f.cut)
	return f
}

// mend listens, at the same address as before.
func (f *forwarder) mend(t *testing.T) {
	t.Helper()
	listener := listen(t, f.address)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listener, f.address = listener, listener.Addr().String()
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			go f.forward(from)
		}
	}()
}

func (f *forwarder) forward(from net.Conn) {
	to, err := net.Dial("tcp", f.to)
	if err != nil {
		from.Close()
		return
	}
	f.mu.Lock()
	f.open = append(f.open, from, to)
	f.mu.Unlock()
	go func() {
		_, _ = io.Copy(to, from)
		to.Close()
	}()
	_, _ = io.Copy(from, to)
	from.Close()
}

// cut ends all connections, and refuses new ones.
func (f *forwarder) cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listener.Close()
	for _, one := range f.open {
		one.Close()
	}
	f.open = nil
}
