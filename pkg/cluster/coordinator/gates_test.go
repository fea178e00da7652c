package coordinator_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestGates checks that no node begins while a gate is closed or cannot be asked, that status and
// policy say so, and that gates are asked only while an upgrade is active.
func TestGates(t *testing.T) {
	c := newCluster(t, "cp1", "w1")
	var asked atomic.Int64
	var fires, broken atomic.Bool
	fires.Store(true)
	prometheus := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		switch {
		case broken.Load():
			http.Error(w, "out of memory", http.StatusInternalServerError)
		case fires.Load():
			fmt.Fprint(w, `{"status":"success","data":{"resultType":"vector","result":[{"metric":{"alertname":"Down"},"value":[1,"1"]}]}}`)
		default:
			fmt.Fprint(w, `{"status":"success","data":{"resultType":"vector","result":[]}}`)
		}
	}))
	defer prometheus.Close()
	c.policy(func(p *v1alpha1.UpgradePolicy) {
		p.Spec.Gates = []v1alpha1.Gate{{Name: "alerts", Prometheus: &v1alpha1.PrometheusGate{URL: prometheus.URL, Query: "ALERTS", Expect: v1alpha1.ExpectEmpty}}}
	})
	c.startCoordinator("one")
	c.startAgent("cp1")
	c.startAgent("w1")
	c.eventually(c.noNodeHasOrder)
	if asked.Load() > 0 {
		t.Error("the gate was asked without an upgrade")
	}

	c.schedule("always", func(*v1alpha1.MaintenanceSchedule) {})
	c.index.offer("v1.34.4")
	c.awaitReason(v1alpha1.ReasonExternalGateClosed)
	c.awaitGate(v1alpha1.GateClosed, `the query returns 1 result, such as {alertname="Down"} = 1`)
	broken.Store(true)
	c.awaitReason(v1alpha1.ReasonExternalGateUnknown)
	if out := c.outages.nodes(); len(out) > 0 {
		t.Errorf("%v went out of service while the gate was not open", out)
	}

	broken.Store(false)
	fires.Store(false)
	c.eventually(c.succeeded("v1.34.4"))
	c.eventually(func() string {
		policy, err := c.ours.UpgradePolicies.Get(t.Context(), v1alpha1.PolicyName, metav1.GetOptions{})
		c.must(err)
		if len(policy.Status.Gates) > 0 {
			return fmt.Sprintf("after the upgrade the policy has %+v", policy.Status.Gates)
		}
		return ""
	})
	before := asked.Load()
	time.Sleep(12 * time.Second)
	if after := asked.Load(); after != before {
		t.Errorf("after the upgrade the gate was asked %d times", after-before)
	}
}

// awaitReason waits until a node waits for that reason.
func (c *cluster) awaitReason(reason v1alpha1.Reason) {
	c.Helper()
	c.eventually(func() string {
		list, err := c.ours.NodeUpgrades.List(c.Context(), metav1.ListOptions{})
		c.must(err)
		var reasons []string
		for _, n := range list.Items {
			for _, condition := range n.Status.Conditions {
				if condition.Reason == string(reason) {
					return ""
				}
				reasons = append(reasons, condition.Reason)
			}
		}
		return fmt.Sprintf("no node waits for %s: %v", reason, reasons)
	})
}

// awaitGate waits until the policy has that answer.
func (c *cluster) awaitGate(state v1alpha1.GateState, message string) {
	c.Helper()
	c.eventually(func() string {
		policy, err := c.ours.UpgradePolicies.Get(c.Context(), v1alpha1.PolicyName, metav1.GetOptions{})
		c.must(err)
		if g := policy.GateStatus("alerts"); g == nil || g.State != state || g.Message != message || g.AskedTime.IsZero() {
			return fmt.Sprintf("the policy's answers are %+v, want %s: %s", policy.Status.Gates, state, message)
		}
		return ""
	})
}
