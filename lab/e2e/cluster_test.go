//go:build e2e

// Package e2e upgrades real clusters with everything that may stop an upgrade, and checks
// from the first second to the last whether the promises of the docs hold. It needs root,
// `make image`, and no lab that runs already.
package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
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
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/stall"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/timelimit"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
)

const (
	from = "v1.34.3"
	to   = "v1.34.4"
)

// testCluster is the cluster under test and all that watches it.
type testCluster struct {
	scenario.Lab
	ctx      context.Context
	root     string // of the checkout
	nodes    []string
	kube     kubernetes.Interface
	ours     *kube.Kinds
	config   *rest.Config
	recorder *record.Recorder
	// stopRecording ends the recorder's watches.
	stopRecording context.CancelFunc
	machine       *client.Client // outside the cluster
	prober        *client.Prober
	watchers      watchers
	still         *stall.Watch // whether the whole machine stands still
}

// followed are the kinds that the recorder records.
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

// newCluster creates a lab as newLab does, installs everything on it, and begins to record.
func newCluster(t *testing.T, controlPlanes, workers int, flags ...string) *testCluster {
	t.Helper()
	c := newLab(t, controlPlanes, workers, flags...)
	if os.Getenv("E2E_REUSE") == "" {
		c.install(t)
	}
	c.connect(t)
	return c
}

// newLab creates a lab. E2E_UP are further flags of `lab up`. It is deleted when the test ends, unless E2E_KEEP is set. With
// E2E_REUSE it is the lab that an earlier run has left.
func newLab(t *testing.T, controlPlanes, workers int, flags ...string) *testCluster {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	c := &testCluster{
		Lab:  scenario.OpenLab(filepath.Join(root, "bin", "lab"), env("LAB_STATE", "/var/lib/kubectl-upgrade-lab")),
		ctx:  ctx,
		root: root,
	}
	if c.still, err = stall.Start(ctx, filepath.Dir(filepath.Dir(c.Kubeconfig))); err != nil {
		t.Fatal(err)
	}
	if os.Getenv("E2E_SHOW") != "" {
		c.Out = os.Stdout
	}
	for i := range controlPlanes {
		c.nodes = append(c.nodes, fmt.Sprintf("cp%d", i+1))
	}
	for i := range workers {
		c.nodes = append(c.nodes, fmt.Sprintf("w%d", i+1))
	}
	groups := topGroups()
	t.Cleanup(func() {
		cancel()
		if t.Failed() {
			t.Log(c.stalls())
			c.diagnose()
		}
		if os.Getenv("E2E_KEEP") == "" {
			if _, err := c.Lab.Lab(context.Background(), "down"); err != nil {
				t.Error(err)
			}
			checkGroupsOfLabGone(t, groups)
		}
	})
	if os.Getenv("E2E_REUSE") != "" {
		return c
	}
	c.must(t)(c.Lab.Lab(ctx, "down"))
	up := []string{"up", "--control-planes", strconv.Itoa(controlPlanes), "--workers", strconv.Itoa(workers), "--version", from}
	up = append(append(up, flags...), strings.Fields(os.Getenv("E2E_UP"))...)
	t.Log(c.must(t)(c.Lab.Lab(ctx, up...)))
	return c
}

func (c *testCluster) install(t *testing.T) {
	t.Helper()
	if err := c.Install(c.ctx, c.root, filepath.Join(c.root, "bin", "node-agent.tar")); err != nil {
		t.Fatal(err)
	}
}

func (c *testCluster) connect(t *testing.T) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS, config.Burst = -1, -1
	c.kube = kubernetes.NewForConfigOrDie(config)
	if c.ours, err = kube.NewKinds(config); err != nil {
		t.Fatal(err)
	}
	c.config = config
	c.record()
}

// record begins a new recording.
func (c *testCluster) record() {
	ctx, cancel := context.WithCancel(c.ctx)
	c.recorder, c.stopRecording = record.New(dynamic.NewForConfigOrDie(c.config)), cancel
	for _, resource := range followed {
		go c.recorder.Follow(ctx, resource)
	}
}

// startClient runs the web service and the requests to it.
func (c *testCluster) startClient(t *testing.T) {
	t.Helper()
	address, err := c.StartWeb(c.ctx)
	if err != nil {
		t.Fatal(err)
	}
	machine, err := c.StartClient(c.ctx, from, t.TempDir(), c.nodes...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(machine.Stop)
	c.machine = machine
	c.prober = client.NewProber(machine, "http://"+address+"/", timelimit.Scale(50*time.Millisecond))
	c.eventually(t, time.Minute, "the client reaches the web service", func() error { return c.prober.Ask(c.ctx) })
	go c.prober.Run(c.ctx)
}

// must returns the output of a command, and fails the test if the command failed.
func (c *testCluster) must(t *testing.T) func(string, error) string {
	t.Helper()
	return func(out string, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
}

// eventually waits until check returns no error. It checks on each recorded change, and each
// second for what is not recorded.
func (c *testCluster) eventually(t *testing.T, limit time.Duration, what string, check func() error) {
	t.Helper()
	c.waitFor(t, limit, what, c.recorder.Changed, check)
}

// eachSecond waits as eventually does, but checks only each second.
func (c *testCluster) eachSecond(t *testing.T, limit time.Duration, what string, check func() error) {
	t.Helper()
	c.waitFor(t, limit, what, func() <-chan struct{} { return nil }, check)
}

func (c *testCluster) waitFor(t *testing.T, limit time.Duration, what string, changes func() <-chan struct{}, check func() error) {
	t.Helper()
	began := time.Now()
	deadline := began.Add(timelimit.Scale(limit))
	for {
		changed := changes()
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(c.late(began, limit, fmt.Sprintf("%s: not within %s: %v", what, limit, err)))
		}
		select {
		case <-changed:
		case <-time.After(time.Second):
		}
	}
}

// checkUndisturbed waits, and fails the test if a node was disturbed meanwhile.
func (c *testCluster) checkUndisturbed(t *testing.T, span time.Duration) {
	t.Helper()
	before := len(c.recorder.Moments())
	time.Sleep(span)
	done, err := record.Disturbed(c.recorder.Moments())
	if err != nil {
		t.Fatal(err)
	}
	if len(done) > 0 {
		t.Fatalf("nodes were disturbed: %v", done)
	}
	t.Logf("%s watched, %d changes seen, none disturbed a node", span, len(c.recorder.Moments())-before)
}

func (c *testCluster) nodeUpgrades() ([]v1alpha1.NodeUpgrade, error) {
	list, err := c.ours.NodeUpgrades.List(c.ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	if len(list.Items) != len(c.nodes) {
		return nil, fmt.Errorf("%d NodeUpgrades, want %d", len(list.Items), len(c.nodes))
	}
	return list.Items, nil
}

// diagnose prints what a person would check first.
func (c *testCluster) diagnose() {
	ctx, cancel := context.WithTimeout(context.Background(), timelimit.Scale(time.Minute))
	defer cancel()
	c.Out = os.Stdout
	_, _ = c.Kube(ctx, "get", "nodes,nodeupgrades,clusterupgrades,maintenanceschedules,upgradepolicies", "-o", "wide")
	_, _ = c.Kube(ctx, "-n", "kubectl-upgrade", "get", "pods,leases", "-o", "wide")
	_, _ = c.Kube(ctx, "get", "nodeupgrades", "-o", "yaml")
	_, _ = c.Kube(ctx, "-n", "kubectl-upgrade", "logs", "deployment/coordinator", "--tail", "100")
	_, _ = c.Kube(ctx, "-n", "kubectl-upgrade", "logs", "daemonset/node-agent", "--all-pods", "--prefix", "--tail", "60")
}
