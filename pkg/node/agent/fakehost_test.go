package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// fakeHost simulates a node's systemd and logind. It outlives the agents that use it.
type fakeHost struct {
	mu       sync.Mutex
	facts    verb.HostFacts
	running  map[verb.Verb]bool
	results  map[verb.Verb]*verb.Result
	began    []string // verbs that change something, as they began
	takes    time.Duration
	slow     map[verb.Verb]time.Duration // verbs that take another time
	hung     map[verb.Verb]*verb.Request // verbs that do not end; nil: not due to end yet
	fail     map[verb.Verb]*verb.Result  // how a verb ends next time
	watchers map[chan host.Change]bool
	asked    map[verb.Verb]*verb.Request
	etcd     *v1alpha1.EtcdFacts    // the health of its members
	dir      string                 // the state folder
	engine   func() (string, error) // update_engine's status; nil: it does not run
	busFails verb.Verb              // the system bus fails once, when this is started
	reboots  int
	packages string // the version that comes from packages; empty: from an image
	onReboot func(boot string)
	// onSoftReboot is called while the former kubelet's status is still on the Node.
	onSoftReboot func(boot string)
	// onRestart is called when a kubelet was restarted. refresh is what a restart that fails
	// leaves merged; nil: what was merged before.
	onRestart func(boot string)
	refresh   *string
}

func newFakeHost() *fakeHost {
	return &fakeHost{
		facts: verb.HostFacts{
			BootID: "boot-0", Supported: true,
			Installed: []string{"v1.34.3"}, Active: "v1.34.3", Merged: "v1.34.3",
		},
		running: map[verb.Verb]bool{}, results: map[verb.Verb]*verb.Result{},
		fail: map[verb.Verb]*verb.Result{}, watchers: map[chan host.Change]bool{},
		asked: map[verb.Verb]*verb.Request{},
		hung:  map[verb.Verb]*verb.Request{},
		takes: 30 * time.Millisecond,
	}
}

func (h *fakeHost) Start(_ context.Context, r verb.Request, _ verb.Options) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.running[r.Verb] {
		return nil
	}
	if h.busFails == r.Verb {
		h.busFails = ""
		return host.Fail(v1alpha1.ReasonHostUnreachable, "the bus is away")
	}
	h.running[r.Verb] = true
	delete(h.results, r.Verb)
	r.RequestedAt = time.Now()
	h.asked[r.Verb] = &r
	if r.Verb != verb.Facts && r.Verb != verb.Etcd {
		h.began = append(h.began, string(r.Verb))
	}
	h.notify(host.Change{Verb: r.Verb})
	takes, slow := h.slow[r.Verb]
	if !slow {
		takes = h.takes
	}
	time.AfterFunc(takes, func() { h.end(r) })
	return nil
}

// install puts the program of the host verbs on the node.
func (h *fakeHost) install() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.facts.HasFiles = true
	return nil
}

// hasFiles reports whether something of kubectl-upgrade is on the node.
func (h *fakeHost) hasFiles() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.facts.HasFiles
}

func (h *fakeHost) end(r verb.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, hangs := h.hung[r.Verb]; hangs {
		h.hung[r.Verb] = &r
		return
	}
	result := &verb.Result{Verb: r.Verb, Key: r.Key, BootID: h.facts.BootID, FinishedAt: time.Now(), OK: true}
	if failure := h.fail[r.Verb]; failure != nil {
		result.OK, result.Reason, result.Message, result.LogTail = false, failure.Reason, failure.Message, failure.LogTail
		delete(h.fail, r.Verb)
		if r.Verb == verb.Restart && h.refresh != nil {
			h.facts.Merged = *h.refresh
		}
	}
	if result.OK {
		h.apply(r)
	}
	switch r.Verb {
	case verb.Facts:
		h.facts.Node.GatheredTime = metav1.Now()
		result.Output, _ = json.Marshal(h.facts)
	case verb.Etcd:
		result.Output, _ = json.Marshal(verb.EtcdOutput{Etcd: h.etcd})
	case verb.Snapshot:
		result.Output, _ = json.Marshal(verb.SnapshotOutput{Path: "/snapshots/1", SHA256: "abc", TakenAt: time.Now()})
	}
	h.running[r.Verb] = false
	h.results[r.Verb] = result
	h.notify(host.Change{Verb: r.Verb})
}

// setKubeletProblem sets what is wrong with the kubelet.
func (h *fakeHost) setKubeletProblem(problem string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.facts.KubeletProblem = problem
}

// hang keeps a verb from ending until finish is called.
func (h *fakeHost) hang(v verb.Verb) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hung[v] = nil
}

func (h *fakeHost) finish(v verb.Verb) {
	h.mu.Lock()
	request := h.hung[v]
	delete(h.hung, v)
	h.mu.Unlock()
	if request != nil {
		h.end(*request)
	}
}

// apply changes the node as a verb does.
func (h *fakeHost) apply(r verb.Request) {
	var args struct{ Version string }
	_ = json.Unmarshal(r.Args, &args)
	switch r.Verb {
	case verb.Uninstall:
		h.facts.HasFiles = false
	case verb.Disarm:
		h.facts.Armed = false
	case verb.Stage:
		h.facts.Installed = []string{"v1.34.3", args.Version}
	case verb.Kubeadm:
		h.facts.Kubeadm.Version = args.Version
		for component := range h.facts.StaticPods {
			h.facts.StaticPods[component] = args.Version
		}
	case verb.Activate:
		h.facts.Active = args.Version
	case verb.Restart:
		h.facts.Merged = args.Version
		go h.onRestart(h.facts.BootID)
	}
}

func (h *fakeHost) LastRequest(v verb.Verb) (*verb.Request, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.asked[v], nil
}

func (h *fakeHost) Open(name string) (*os.File, error) { return os.Open(filepath.Join(h.dir, name)) }

// setEtcd sets the health of etcd's members.
func (h *fakeHost) setEtcd(facts *v1alpha1.EtcdFacts) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.etcd = facts
}

func (h *fakeHost) notify(change host.Change) {
	for watcher := range h.watchers {
		select {
		case watcher <- change:
		default:
		}
	}
}

func (h *fakeHost) Last(_ context.Context, v verb.Verb) (bool, *verb.Result, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.running[v] {
		return true, nil, nil
	}
	return false, h.results[v], nil
}

func (h *fakeHost) Changes(ctx context.Context) (<-chan host.Change, error) {
	changes := make(chan host.Change, 16)
	h.mu.Lock()
	h.watchers[changes] = true
	h.mu.Unlock()
	context.AfterFunc(ctx, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.watchers, changes)
		close(changes)
	})
	return changes, nil
}

func (h *fakeHost) UpdateEngine(context.Context) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.engine == nil {
		return "", nil
	}
	return h.engine()
}

// Reboot reboots the node: all that runs on it ends.
func (h *fakeHost) Reboot(context.Context) error {
	h.mu.Lock()
	h.reboots++
	h.facts.BootID = fmt.Sprintf("boot-%d", h.reboots)
	h.facts.Merged = h.facts.Active
	boot := h.facts.BootID
	h.mu.Unlock()
	go h.onReboot(boot)
	return nil
}

// SoftReboot starts again all that runs on the node but its kernel.
func (h *fakeHost) SoftReboot(context.Context) error {
	h.mu.Lock()
	h.facts.SoftReboots++
	h.facts.Merged = h.facts.Active
	boot := h.facts.BootID
	h.mu.Unlock()
	go h.onSoftReboot(boot)
	return nil
}

func (h *fakeHost) softRebootCount() int32 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.facts.SoftReboots
}

// verbs returns the verbs that change something, in the order of their start.
func (h *fakeHost) verbs() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.began)
}

func (h *fakeHost) rebootCount() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.reboots
}

// awaitEnd waits until a verb does not run any more.
func (h *fakeHost) awaitEnd(t *testing.T, v verb.Verb) {
	t.Helper()
	for running := true; running; time.Sleep(time.Millisecond) {
		running, _, _ = h.Last(t.Context(), v)
	}
}

func (h *fakeHost) merged() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return cmp.Or(h.packages, h.facts.Merged)
}
