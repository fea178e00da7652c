//go:build e2e

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/image"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/network"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// prometheusObjects are the only Prometheus of the cluster, which begins on w1. It scrapes signal, and
// has an alert for it.
const prometheusObjects = `
apiVersion: v1
kind: Namespace
metadata: {name: monitoring}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: prometheus, namespace: monitoring}
data:
  prometheus.yml: |
    global: {scrape_interval: 1s, evaluation_interval: 1s}
    rule_files: [/config/rules.yml]
    scrape_configs: [{job_name: shop, static_configs: [{targets: ['%[1]s']}]}]
  rules.yml: |
    groups: [{name: shop, rules: [{alert: ShopDown, expr: shop_down == 1, labels: {severity: critical}}]}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: prometheus, namespace: monitoring}
spec:
  strategy: {type: Recreate}
  selector: {matchLabels: {app: prometheus}}
  template:
    metadata: {labels: {app: prometheus}}
    spec:
      terminationGracePeriodSeconds: 1
      affinity:
        nodeAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
            - {weight: 100, preference: {matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [w1]}]}}
      containers:
        - name: prometheus
          image: %[2]s
          args: [--config.file=/config/prometheus.yml, --storage.tsdb.path=/tmp/data, "--web.listen-address=:9090"]
          readinessProbe: {httpGet: {path: /-/ready, port: 9090}, periodSeconds: 1}
          volumeMounts: [{name: config, mountPath: /config}]
      volumes: [{name: config, configMap: {name: prometheus}}]
---
apiVersion: v1
kind: Service
metadata: {name: prometheus, namespace: monitoring}
spec: {selector: {app: prometheus}, ports: [{port: 9090}]}
`

// gatesOfPolicy are a query to that Prometheus, and a question about a Deployment.
const gatesOfPolicy = `{"gates":[
  {"name":"alerts","prometheus":{"url":"http://prometheus.monitoring.svc:9090","query":"ALERTS{alertstate=\"firing\",severity=\"critical\"}","expect":"Empty"}},
  {"name":"prometheus","at":["Upgrade"],"object":{"apiVersion":"apps/v1","kind":"Deployment","namespace":"monitoring","name":"prometheus",
    "condition":"object.status.?readyReplicas.orValue(0) == object.spec.replicas"}}]}`

const prometheusImage = "registry.example/prometheus:v1"

// signal is a metric that Prometheus scrapes from this machine.
type signal struct{ down atomic.Bool }

// startSignal serves the metric at an address that pods reach, which it returns.
func startSignal(t *testing.T) (*signal, string) {
	t.Helper()
	s := &signal{}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", network.Host+":0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		value := 0
		if s.down.Load() {
			value = 1
		}
		_, _ = io.WriteString(w, fmt.Sprintf("shop_down %d\n", value))
	})}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return s, listener.Addr().String()
}

// TestGates patches a control plane and two workers while alerts of a real Prometheus in the cluster
// fire and resolve: nodes wait at a closed gate until it opens, a node that has its slot is finished,
// and the drain of Prometheus' own node closes the gate for the next one only.
func TestGates(t *testing.T) {
	c := newCluster(t, 1, 2)
	shop, address := startSignal(t)
	c.loadPrometheus(t)
	c.apply(t, fmt.Sprintf(prometheusObjects, address, prometheusImage))
	c.must(t)(c.Kube(c.ctx, "-n", "monitoring", "rollout", "status", "deployment/prometheus", "--timeout", "180s"))
	c.patchPolicy(t, gatesOfPolicy)
	c.apply(t, scenario.OpenSchedule)
	c.must(t)(c.Lab.Lab(c.ctx, "publish", to))
	shop.down.Store(true)

	// The right to read Deployments is missing: the plan says so, with the command that grants it.
	c.must(t)(c.Upgrade(c.ctx, "apply", to, "--yes", "--detach"))
	c.awaitHeld(t, v1alpha1.ReasonExternalGateClosed, "gate alerts has been closed since .*ShopDown", "cp1")
	c.checkStatus(t, "ShopDown", "may not read Deployment of apps/v1")
	c.grantWhatPlanSays(t)
	c.checkUndisturbed(t, 20*time.Second)

	shop.down.Store(false)
	c.eventually(t, 10*time.Minute, "w1 drains", func() error { return c.at("w1", v1alpha1.StepDraining) })
	// An alert that fires once w1 has its slot holds w2 only.
	shop.down.Store(true)
	c.eventually(t, 10*time.Minute, "w1 is done", func() error { return c.done("w1") })
	c.awaitHeld(t, v1alpha1.ReasonExternalGateClosed, "gate alerts is closed", "w2")
	c.staysWaiting(t, "w2", 20*time.Second)

	// A Prometheus that is away keeps the gate closed.
	c.must(t)(c.Kube(c.ctx, "-n", "monitoring", "scale", "deployment/prometheus", "--replicas", "0"))
	shop.down.Store(false)
	c.awaitHeld(t, v1alpha1.ReasonExternalGateUnknown, "gate alerts has not answered since", "w2")
	c.staysWaiting(t, "w2", 20*time.Second)
	c.must(t)(c.Kube(c.ctx, "-n", "monitoring", "scale", "deployment/prometheus", "--replicas", "1"))
	c.eventually(t, 15*time.Minute, "every node is done", c.everyNodeDone)
	c.checkSlots(t, 1)
}

// loadPrometheus builds an image of this machine's Prometheus with the libraries that it needs, and
// puts it on the lab's registry.
func (c *testCluster) loadPrometheus(t *testing.T) {
	t.Helper()
	tar := filepath.Join(t.TempDir(), "prometheus.tar")
	files := map[string]string{"/usr/bin/prometheus": "/usr/bin/prometheus"}
	for _, library := range []string{"/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2"} {
		files[library] = library
	}
	if err := image.BuildImage(prometheusImage, files, []string{"/usr/bin/prometheus"}, tar); err != nil {
		t.Fatal(err)
	}
	c.must(t)(c.Lab.Lab(c.ctx, "load-image", tar))
}

// grantWhatPlanSays runs the command that the finding gate-rights shows.
func (c *testCluster) grantWhatPlanSays(t *testing.T) {
	t.Helper()
	findings := c.planFindings(t)
	i := slices.IndexFunc(findings, func(f v1alpha1.Finding) bool { return f.ID == "gate-rights" })
	if i < 0 {
		t.Fatalf("plan has no finding gate-rights: %+v", findings)
	}
	t.Log(findings[i].Message, findings[i].Advice)
	c.must(t)(c.shell(t.TempDir(), findings[i].Advice))
}

// planFindings returns what `kubectl upgrade plan` finds for the upgrade.
func (c *testCluster) planFindings(t *testing.T) []v1alpha1.Finding {
	t.Helper()
	var plan struct {
		Findings []v1alpha1.Finding `json:"findings"`
	}
	out := c.must(t)(c.Upgrade(c.ctx, "plan", to, "-o", "json"))
	if err := json.Unmarshal([]byte(out), &plan); err != nil {
		t.Fatal(err)
	}
	return plan.Findings
}

// staysWaiting checks that a node begins nothing for a while.
func (c *testCluster) staysWaiting(t *testing.T, name string, span time.Duration) {
	t.Helper()
	for end := time.Now().Add(span); time.Now().Before(end); time.Sleep(time.Second) {
		if err := c.at(name, v1alpha1.StepWaiting); err != nil {
			t.Fatalf("%s begins at a closed gate: %v", name, err)
		}
	}
}

// done returns why a node is not done yet.
func (c *testCluster) done(name string) error {
	node, err := c.ours.NodeUpgrades.Get(c.ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if !isDone(*node) {
		return errors.New(describe(*node))
	}
	return nil
}

// awaitHeld waits until a node waits for the reason, with a message that matches words, and prints what
// people see then.
func (c *testCluster) awaitHeld(t *testing.T, reason v1alpha1.Reason, words, name string) {
	t.Helper()
	c.eachSecond(t, 10*time.Minute, fmt.Sprintf("%s waits for %s", name, reason), func() error {
		node, err := c.statusOf(name)
		if err == nil && (node.Reason != reason || !regexp.MustCompile(words).MatchString(node.Message)) {
			err = fmt.Errorf("step %s, reason %s: %s", node.Step, node.Reason, node.Message)
		}
		return err
	})
	c.checkStatus(t, string(reason))
}
