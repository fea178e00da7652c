//go:build e2e

// Package e2e lets a patch reach every node of a real cluster, past everything
// that may stop it, and watches, from the first second to the last, whether the
// promises of docs hold. It needs root, `make image`, and no lab that runs
// already.
package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/client"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/record"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	ours "github.com/kubectl-upgrade/kubectl-upgrade/pkg/client"
)

const (
	from = "v1.34.3"
	to   = "v1.34.4"
)

// world is the cluster under test and everything that watches it.
type world struct {
	scenario.Lab
	ctx      context.Context
	root     string // of the checkout
	nodes    []string
	kube     kubernetes.Interface
	ours     *ours.Interface
	recorder *record.Recorder
	prober   *client.Prober
	watchers watchers
}

// followed is what the recorder hears of.
var followed = []schema.GroupVersionResource{
	{Version: "v1", Resource: "nodes"},
	{Version: "v1", Resource: "pods"},
	{Version: "v1", Resource: "events"},
	{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"},
	v1alpha1.NodeUpgrades,
	v1alpha1.ClusterUpgrades,
	v1alpha1.MaintenanceSchedules,
}

func env(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

// newWorld makes a fresh lab, installs everything on it, and begins to record.
// The lab goes down with the test, unless E2E_KEEP is set.
func newWorld(t *testing.T, controlPlanes, workers int, flags ...string) *world {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		Lab:  scenario.OpenLab(filepath.Join(root, "bin", "lab"), env("LAB_STATE", "/var/lib/kubectl-upgrade-lab")),
		ctx:  ctx,
		root: root,
	}
	for i := range controlPlanes {
		w.nodes = append(w.nodes, fmt.Sprintf("cp%d", i+1))
	}
	for i := range workers {
		w.nodes = append(w.nodes, fmt.Sprintf("w%d", i+1))
	}
	t.Cleanup(func() {
		cancel()
		if t.Failed() {
			w.diagnose()
		}
		if os.Getenv("E2E_KEEP") == "" {
			if _, err := w.Lab.Lab(context.Background(), "down"); err != nil {
				t.Error(err)
			}
		}
	})
	w.must(t)(w.Lab.Lab(ctx, "down"))
	up := []string{"up", "--control-planes", strconv.Itoa(controlPlanes), "--workers", strconv.Itoa(workers), "--version", from}
	t.Log(w.must(t)(w.Lab.Lab(ctx, append(up, flags...)...)))
	if err := w.Install(ctx, root, filepath.Join(root, "bin", "node-agent.tar")); err != nil {
		t.Fatal(err)
	}
	w.connect(t)
	return w
}

func (w *world) connect(t *testing.T) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", w.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS, config.Burst = -1, -1
	w.kube = kubernetes.NewForConfigOrDie(config)
	if w.ours, err = ours.New(config); err != nil {
		t.Fatal(err)
	}
	w.record(config)
}

func (w *world) record(config *rest.Config) {
	w.recorder = record.New(dynamic.NewForConfigOrDie(config))
	for _, resource := range followed {
		go w.recorder.Follow(w.ctx, resource)
	}
}

// startClient runs the web service and the requests to it.
func (w *world) startClient(t *testing.T) {
	t.Helper()
	address, err := w.StartWeb(w.ctx)
	if err != nil {
		t.Fatal(err)
	}
	machine, err := w.StartClient(w.ctx, env("LAB_CACHE", "/var/cache/kubectl-upgrade-lab"), from, t.TempDir(), w.nodes...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(machine.Stop)
	w.prober = client.NewProber(machine, "http://"+address+"/", 50*time.Millisecond)
	w.eventually(t, time.Minute, "the client reaches the web service", func() error { return w.prober.Ask(w.ctx) })
	go w.prober.Run(w.ctx)
}

// must fails the test when a command did.
func (w *world) must(t *testing.T) func(string, error) string {
	t.Helper()
	return func(out string, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
}

// eventually waits for check to be happy. It looks whenever the cluster tells
// something new, and every second besides, for what the cluster does not tell.
func (w *world) eventually(t *testing.T, limit time.Duration, what string, check func() error) {
	t.Helper()
	w.patiently(t, limit, what, w.recorder.Changed, check)
}

// eachSecond waits as eventually does, for a check that costs more.
func (w *world) eachSecond(t *testing.T, limit time.Duration, what string, check func() error) {
	t.Helper()
	w.patiently(t, limit, what, func() <-chan struct{} { return nil }, check)
}

func (w *world) patiently(t *testing.T, limit time.Duration, what string, news func() <-chan struct{}, check func() error) {
	t.Helper()
	deadline := time.Now().Add(limit)
	for {
		changed := news()
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s: %v", what, limit, err)
		}
		select {
		case <-changed:
		case <-time.After(time.Second):
		}
	}
}

// quiet watches for a while and fails when a node was disturbed meanwhile.
func (w *world) quiet(t *testing.T, span time.Duration) {
	t.Helper()
	before := len(w.recorder.Moments())
	time.Sleep(span)
	done, err := record.Disturbed(w.recorder.Moments())
	if err != nil {
		t.Fatal(err)
	}
	if len(done) > 0 {
		t.Fatalf("nodes were disturbed: %v", done)
	}
	t.Logf("%s watched, %d changes seen, none disturbed a node", span, len(w.recorder.Moments())-before)
}

func (w *world) nodeUpgrades() ([]v1alpha1.NodeUpgrade, error) {
	list, err := w.ours.NodeUpgrades.List(w.ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	if len(list.Items) != len(w.nodes) {
		return nil, fmt.Errorf("%d NodeUpgrades, want %d", len(list.Items), len(w.nodes))
	}
	return list.Items, nil
}

// diagnose prints what a person would ask for first.
func (w *world) diagnose() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	w.Out = os.Stdout
	_, _ = w.Kube(ctx, "get", "nodes,nodeupgrades,clusterupgrades,maintenanceschedules,upgradepolicies", "-o", "wide")
	_, _ = w.Kube(ctx, "-n", "kubectl-upgrade", "get", "pods,leases", "-o", "wide")
	_, _ = w.Kube(ctx, "get", "nodeupgrades", "-o", "yaml")
	_, _ = w.Kube(ctx, "-n", "kubectl-upgrade", "logs", "deployment/coordinator", "--tail", "100")
	_, _ = w.Kube(ctx, "-n", "kubectl-upgrade", "logs", "daemonset/node-agent", "--all-pods", "--prefix", "--tail", "60")
}
