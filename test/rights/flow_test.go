package rights_test

import (
	"net/http"
	"testing"
	"time"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// TestFlowOfAgents checks that the API server puts agents' requests into a flow and a priority
// level of their own, and a kubelet's and the coordinator's into others.
func TestFlowOfAgents(t *testing.T) {
	config := install(t)
	flows := kubernetes.NewForConfigOrDie(config).FlowcontrolV1()
	own, err := flows.FlowSchemas().Get(t.Context(), "kubectl-upgrade-agents", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	level, err := flows.PriorityLevelConfigurations().Get(t.Context(), own.Spec.PriorityLevelConfiguration.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// No method tells agents apart, which share a user: what bounds a flood is the queue.
	if queuing := level.Spec.Limited.LimitResponse.Queuing; own.Spec.DistinguisherMethod != nil || queuing == nil || queuing.Queues*queuing.QueueLengthLimit > 10000 {
		t.Errorf("the agents' flow is told apart by %v and queued in %+v, want one flow and room for 10,000 requests", own.Spec.DistinguisherMethod, queuing)
	}
	flowOf := func(user string, groups ...string) (schema, priority string) {
		t.Helper()
		one := rest.CopyConfig(config)
		one.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: append(groups, "system:authenticated")}
		client, err := rest.HTTPClientFor(one)
		if err != nil {
			t.Fatal(err)
		}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, one.Host+core+"/nodes", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		return answer.Header.Get(flowcontrolv1.ResponseHeaderMatchedFlowSchemaUID), answer.Header.Get(flowcontrolv1.ResponseHeaderMatchedPriorityLevelConfigurationUID)
	}
	account := func(name string) (schema, priority string) {
		return flowOf("system:serviceaccount:kubectl-upgrade:"+name, "system:serviceaccounts", "system:serviceaccounts:kubectl-upgrade")
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) { // until the API server has noticed
		schema, priority := account("node-agent")
		if schema == string(own.UID) && priority == string(level.UID) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("an agent's request has the flow schema %s and the priority level %s, want %s and %s", schema, priority, own.UID, level.UID)
		}
	}
	if schema, priority := account("coordinator"); schema == "" || schema == string(own.UID) || priority == string(level.UID) {
		t.Errorf("the coordinator's has the flow schema %q and the priority level %q, those of agents", schema, priority)
	}
	if schema, priority := flowOf("system:node:worker-1", "system:nodes"); schema == "" || schema == string(own.UID) || priority == string(level.UID) {
		t.Errorf("a kubelet's has the flow schema %q and the priority level %q, those of agents", schema, priority)
	}
}
