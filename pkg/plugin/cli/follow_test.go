package cli_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/cli"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// output collects what a running command writes.
type output struct {
	sync.Mutex
	bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.Lock()
	defer o.Unlock()
	return o.Buffer.Write(p)
}

// WriteString locks, as Write does. The Buffer's own does not.
func (o *output) WriteString(s string) (int, error) { return o.Write([]byte(s)) }

func (o *output) text() string {
	o.Lock()
	defer o.Unlock()
	return o.String()
}

func (o *output) await(t *testing.T, words string) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); !strings.Contains(o.text(), words); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("waiting for %q:\n%s", words, o.text())
		}
	}
}

// watched is a running `kubectl upgrade status --watch`.
type watched struct {
	out, errOut output
	code        chan int
}

func startWatch(ctx context.Context, t *testing.T, config *rest.Config, more ...string) *watched {
	w := &watched{code: make(chan int, 1)}
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &w.out, ErrOut: &w.errOut}
	args := append([]string{"status", "--watch", "--kubeconfig=" + apitest.Kubeconfig(t, config)}, more...)
	go func() { w.code <- cli.Run(ctx, args, streams, "test") }()
	return w
}

func (w *watched) exit(t *testing.T, want int) {
	t.Helper()
	select {
	case got := <-w.code:
		if got != want {
			t.Errorf("got exit code %d, want %d; output:\n%s%s", got, want, w.out.text(), w.errOut.text())
		}
	case <-time.After(time.Minute):
		t.Fatalf("the command has not ended; output:\n%s", w.out.text())
	}
}

// begun is the status of a triggered upgrade.
const begun = `type: Patch, fromVersion: v1.34.3, triggerTime: "2020-01-01T00:00:00Z"`

const upgradeBegins = `
kind: ClusterUpgrade
metadata: {name: u}
spec: {version: v1.34.4}
status: {` + begun + `}
---
kind: NodeUpgrade
metadata: {name: w-1}
spec: {upgrade: {name: u, uid: UID(u)}, version: v1.34.4}
status: {step: Waiting, conditions: [{type: Admitted, status: "False", reason: WindowClosed, message: no window is open, lastTransitionTime: "2026-01-01T00:00:00Z"}]}
`

func applyObjects(t *testing.T, config *rest.Config, text string) {
	t.Helper()
	if err := createObjects(config, text); err != nil {
		t.Fatal(err)
	}
}

func TestWatchLogsEachTransitionAndEndsWithUpgrade(t *testing.T) {
	config := apitest.Start(t)
	apitest.InstallCRDs(t, config)
	for _, end := range []struct {
		outcome string
		code    int
	}{{"Succeeded", 0}, {"Failed", 3}, {"RolledBack", 3}} {
		t.Run(end.outcome, func(t *testing.T) {
			removeObjects(t, config)
			w := startWatch(context.Background(), t, config)
			w.out.await(t, "upgrade: none is active")
			applyObjects(t, config, upgradeBegins)
			w.out.await(t, "upgrade u: Patch v1.34.3 -> v1.34.4")
			w.out.await(t, "node w-1: Waiting: WindowClosed: no window is open")
			applyObjects(t, config, "kind: NodeUpgrade\nmetadata: {name: w-1}\nstatus: {step: Draining, conditions: [{type: UpToDate, status: \"False\", reason: Draining, message: 2 pods are terminating, lastTransitionTime: \"2026-01-01T00:00:00Z\"}]}")
			w.out.await(t, "node w-1: Draining: Draining: 2 pods are terminating")
			applyObjects(t, config, "kind: ClusterUpgrade\nmetadata: {name: u}\nspec: {version: v1.34.4}\nstatus: {"+begun+", outcome: "+end.outcome+`, endTime: "2026-01-01T00:00:00Z"}`)
			w.exit(t, end.code)
			for _, line := range strings.Split(strings.TrimSpace(w.out.text()), "\n") {
				stamp, _, _ := strings.Cut(line, " ")
				if _, err := time.Parse(time.RFC3339, stamp); err != nil || strings.Contains(line, "\x1b") {
					t.Errorf("got a line without its time, or with color: %q", line)
				}
			}
		})
	}
}

// TestWatchOfOneNode checks that the log for a node has the changes of that node and of the
// upgrade only.
func TestWatchOfOneNode(t *testing.T) {
	config := apitest.Start(t)
	apitest.InstallCRDs(t, config)
	removeObjects(t, config)
	applyObjects(t, config, upgradeBegins)
	applyObjects(t, config, "kind: NodeUpgrade\nmetadata: {name: w-2}\nspec: {upgrade: {name: u, uid: UID(u)}, version: v1.34.4}\nstatus: {step: Waiting}")
	w := startWatch(context.Background(), t, config, "w-2")
	w.out.await(t, "node w-2: Waiting")
	applyObjects(t, config, "kind: NodeUpgrade\nmetadata: {name: w-1}\nstatus: {step: Draining}")
	applyObjects(t, config, "kind: NodeUpgrade\nmetadata: {name: w-2}\nstatus: {step: Locking}")
	w.out.await(t, "node w-2: Locking")
	applyObjects(t, config, "kind: ClusterUpgrade\nmetadata: {name: u}\nspec: {version: v1.34.4}\nstatus: {"+begun+", outcome: Succeeded}")
	w.exit(t, 0)
	if got := w.out.text(); strings.Contains(got, "w-1") || !strings.Contains(got, "upgrade u: Patch v1.34.3 -> v1.34.4") {
		t.Errorf("the output has another node, or not the upgrade:\n%s", got)
	}
}

// TestWatchOfNodesWithLabels checks that the log has the nodes that -l selects.
func TestWatchOfNodesWithLabels(t *testing.T) {
	config := apitest.Start(t)
	apitest.InstallCRDs(t, config)
	removeObjects(t, config)
	applyObjects(t, config, "kind: Node\nmetadata: {name: w-1, labels: {pool: web}}\n---\nkind: Node\nmetadata: {name: w-2, labels: {pool: db}}\n---\n"+upgradeBegins)
	applyObjects(t, config, "kind: NodeUpgrade\nmetadata: {name: w-2}\nspec: {upgrade: {name: u, uid: UID(u)}, version: v1.34.4}\nstatus: {step: Waiting}")
	w := startWatch(context.Background(), t, config, "-l", "pool=db")
	w.out.await(t, "node w-2: Waiting")
	applyObjects(t, config, "kind: NodeUpgrade\nmetadata: {name: w-1}\nstatus: {step: Draining}")
	applyObjects(t, config, "kind: NodeUpgrade\nmetadata: {name: w-2}\nstatus: {step: Locking}")
	w.out.await(t, "node w-2: Locking")
	applyObjects(t, config, "kind: ClusterUpgrade\nmetadata: {name: u}\nspec: {version: v1.34.4}\nstatus: {"+begun+", outcome: Succeeded}")
	w.exit(t, 0)
	if got := w.out.text(); strings.Contains(got, "w-1") || !strings.Contains(got, "upgrade u: Patch v1.34.3 -> v1.34.4") {
		t.Errorf("the output has another node, or not the upgrade:\n%s", got)
	}
}

func TestWatchReportsDeletedUpgrade(t *testing.T) {
	config := apitest.Start(t)
	apitest.InstallCRDs(t, config)
	removeObjects(t, config)
	applyObjects(t, config, upgradeBegins)
	w := startWatch(context.Background(), t, config)
	w.out.await(t, "node w-1")
	removeObjects(t, config)
	w.exit(t, 3)
	if !strings.Contains(w.errOut.text(), "was deleted") {
		t.Errorf("got %q, want that the upgrade was deleted", w.errOut.text())
	}
}

func TestInterruptedWatchIsSilent(t *testing.T) {
	config := apitest.Start(t)
	apitest.InstallCRDs(t, config)
	removeObjects(t, config)
	ctx, interrupt := context.WithCancel(context.Background())
	w := startWatch(ctx, t, config)
	w.out.await(t, "none is active")
	interrupt()
	w.exit(t, 130)
	if w.errOut.text() != "" {
		t.Errorf("stderr is %q, want nothing", w.errOut.text())
	}
}

// TestWatchSurvivesAPIServerOutage checks that following continues after the API server was
// down, as when the only control plane reboots.
func TestWatchSurvivesAPIServerOutage(t *testing.T) {
	config := apitest.Start(t)
	apitest.InstallCRDs(t, config)
	removeObjects(t, config)
	proxy := newProxy(t, config)
	far := rest.CopyConfig(config)
	far.Host = "https://" + proxy.listener.Addr().String()

	w := startWatch(context.Background(), t, far)
	w.out.await(t, "none is active")
	proxy.cut()
	w.out.await(t, "the API server does not answer")
	applyObjects(t, config, upgradeBegins)
	proxy.restore()
	w.out.await(t, "the API server answers again")
	// The upgrade began during the outage.
	w.out.await(t, "upgrade u: Patch")
	w.out.await(t, "node w-1: Waiting")
	applyObjects(t, config, "kind: ClusterUpgrade\nmetadata: {name: u}\nspec: {version: v1.34.4}\nstatus: {"+begun+", outcome: Succeeded}")
	w.exit(t, 0)
}

// proxy forwards connections to the API server, and can be cut.
type proxy struct {
	listener net.Listener
	target   string

	mu    sync.Mutex
	down  bool
	conns []net.Conn
}

func newProxy(t *testing.T, config *rest.Config) *proxy {
	t.Helper()
	host, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &proxy{listener: listener, target: host.Host}
	t.Cleanup(func() { listener.Close() })
	go l.serve()
	return l
}

func (l *proxy) serve() {
	for {
		near, err := l.listener.Accept()
		if err != nil {
			return
		}
		l.mu.Lock()
		far, err := new(net.Dialer).DialContext(context.Background(), "tcp", l.target)
		if l.down || err != nil {
			near.Close()
		} else {
			l.conns = append(l.conns, near, far)
			go func() { _, _ = io.Copy(far, near) }()
			go func() { _, _ = io.Copy(near, far) }()
		}
		l.mu.Unlock()
	}
}

func (l *proxy) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = true
	for _, conn := range l.conns {
		conn.Close()
	}
}

func (l *proxy) restore() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = false
}
