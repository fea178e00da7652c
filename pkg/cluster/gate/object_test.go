package gate_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/gate"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

func TestMain(m *testing.M) { apitest.Main(m) }

// TestObjects asks for objects of a real API server.
func TestObjects(t *testing.T) {
	config := apitest.Start(t)
	objects := dynamic.NewForConfigOrDie(config)
	create := func(group, version, resource, namespace, text string) {
		t.Helper()
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
			t.Fatal(err)
		}
		var err error
		if resources := objects.Resource(schema.GroupVersionResource{Group: group, Version: version, Resource: resource}); namespace == "" {
			_, err = resources.Create(t.Context(), o, metav1.CreateOptions{})
		} else {
			_, err = resources.Namespace(namespace).Create(t.Context(), o, metav1.CreateOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a", "b"} {
		create("", "v1", "configmaps", "default", `{apiVersion: v1, kind: ConfigMap, metadata: {name: `+name+`, labels: {app: shop}}, data: {ready: "true", name: `+name+`}}`)
	}
	create("", "v1", "configmaps", "kube-system", `{apiVersion: v1, kind: ConfigMap, metadata: {name: c, labels: {app: shop}}, data: {ready: "false"}}`)
	create("", "v1", "nodes", "", `{apiVersion: v1, kind: Node, metadata: {name: w1}}`)
	create("apiextensions.k8s.io", "v1", "customresourcedefinitions", "", `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: backups.example.org},
spec: {group: example.org, scope: Cluster, names: {plural: backups, kind: Backup}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}`)
	create("", "v1", "configmaps", "default", `{apiVersion: v1, kind: ConfigMap, metadata: {name: large}, data: {value: `+strings.Repeat("a", 900_000)+`}}`)
	clients := newClients(t, config)

	shop := func(namespace, condition string) v1alpha1.ObjectGate {
		return v1alpha1.ObjectGate{APIVersion: "v1", Kind: "ConfigMap", Namespace: namespace, Selector: &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "shop"}}, Condition: condition}
	}
	named := func(kind, namespace, name, condition string) v1alpha1.ObjectGate {
		return v1alpha1.ObjectGate{APIVersion: "v1", Kind: kind, Namespace: namespace, Name: name, Condition: condition}
	}
	for _, row := range []struct {
		what    string
		gate    v1alpha1.ObjectGate
		state   v1alpha1.GateState
		message string
	}{
		{"one that meets it", named("ConfigMap", "default", "a", "object.data.ready == 'true'"), v1alpha1.GateOpen, "ConfigMap default/a (object.data.ready is true) meets the condition"},
		{"one that does not", named("ConfigMap", "kube-system", "c", "object.data.ready == 'true'"), v1alpha1.GateClosed, "object.data.ready is false"},
		{"all meet it", shop("default", "object.data.ready == 'true'"), v1alpha1.GateOpen, "all 2 objects"},
		{"one of two does not", shop("default", "object.data.name == 'a'"), v1alpha1.GateClosed, "1 of 2 objects do not meet the condition, such as ConfigMap default/b (object.data.name is b)"},
		{"all namespaces", shop("", "object.data.ready == 'true'"), v1alpha1.GateClosed, "1 of 3"},
		{"no object with that label", v1alpha1.ObjectGate{APIVersion: "v1", Kind: "ConfigMap", Selector: &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "bank"}}, Condition: "true"}, v1alpha1.GateClosed, "there is no ConfigMap with the labels app=bank"},
		{"no object of that name", named("ConfigMap", "default", "gone", "true"), v1alpha1.GateClosed, "there is no ConfigMap default/gone"},
		{"no such namespace", named("ConfigMap", "gone", "a", "true"), v1alpha1.GateClosed, "there is no"},
		{"a field that is missing", named("ConfigMap", "default", "a", "object.status.phase == 'Ready'"), v1alpha1.GateUnknown, "no such key: status"},
		{"a field that may be missing", named("ConfigMap", "default", "a", "object.?status.?phase.orValue('Ready') == 'Ready'"), v1alpha1.GateOpen, ""},
		{"no truth", named("ConfigMap", "default", "a", "object.data.ready"), v1alpha1.GateUnknown, "must be true or false"},
		{"a division by zero", named("ConfigMap", "default", "a", "1 / (size(object.data) - 2) == 1"), v1alpha1.GateUnknown, "division by zero"},
		{"a condition that does not compile", named("ConfigMap", "default", "a", "object.data.ready =="), v1alpha1.GateUnknown, "line 1, column 21"},
		{"a condition that costs too much", named("ConfigMap", "default", "large", costly), v1alpha1.GateUnknown, "cost"},
		{"a Node", named("Node", "", "w1", "object.metadata.name == 'w1'"), v1alpha1.GateOpen, "Node w1"},
		{"a Node in a namespace", named("Node", "default", "w1", "true"), v1alpha1.GateUnknown, "leave object.namespace out"},
		{"a ConfigMap in no namespace", named("ConfigMap", "", "a", "true"), v1alpha1.GateUnknown, "set object.namespace"},
		{"a kind that does not exist", v1alpha1.ObjectGate{APIVersion: "shop.example/v1", Kind: "Till", Name: "a", Condition: "true"}, v1alpha1.GateUnknown, "no kind Till in shop.example/v1"},
		{"a Secret", named("Secret", "default", "a", "true"), v1alpha1.GateUnknown, "Secrets are not read"},
		{"a kind of a CRD", v1alpha1.ObjectGate{APIVersion: "example.org/v1", Kind: "Backup", Name: "today", Condition: "true"}, v1alpha1.GateClosed, "there is no Backup today"},
	} {
		t.Run(row.what, func(t *testing.T) {
			check(t, clients, v1alpha1.Gate{Name: "g", TimeoutSeconds: 30, Object: &row.gate}, row.state, row.message)
		})
	}

	t.Run("a CRD that is removed meanwhile", func(t *testing.T) {
		crds := objects.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
		if err := crds.Delete(t.Context(), "backups.example.org", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		g := v1alpha1.Gate{Name: "g", TimeoutSeconds: 30, Object: &v1alpha1.ObjectGate{APIVersion: "example.org/v1", Kind: "Backup", Name: "today", Condition: "true"}}
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
			answer := clients.Ask(t.Context(), g)
			if answer.State == v1alpha1.GateUnknown {
				break
			}
			if answer.State == v1alpha1.GateOpen || time.Now().After(deadline) {
				t.Fatalf("got %+v for a kind that is gone", answer)
			}
		}
	})

	t.Run("more than 500 objects", func(t *testing.T) {
		for i := range 501 {
			create("", "v1", "configmaps", "default", fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: many-%d, labels: {app: many}}}`, i))
		}
		many := shop("default", "true")
		many.Selector = &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "many"}}
		check(t, clients, v1alpha1.Gate{Name: "g", TimeoutSeconds: 30, Object: &many}, v1alpha1.GateUnknown, "more than 500 objects")
	})

	t.Run("an object without the right", func(t *testing.T) {
		nobody := rest.CopyConfig(config)
		nobody.Impersonate = rest.ImpersonationConfig{UserName: "nobody"}
		g := named("ConfigMap", "default", "a", "true")
		check(t, newClients(t, nobody), v1alpha1.Gate{Name: "g", TimeoutSeconds: 30, Object: &g}, v1alpha1.GateUnknown, "may not read ConfigMap of v1")
	})
}

// costly searches a large value three times for a long expression: that is quick, and CEL counts the
// product of both lengths.
var costly = func() string {
	search := "object.data.value.matches('" + strings.Repeat("b", 300) + "')"
	return strings.Join([]string{search, search, search}, " || ")
}()

func newClients(t *testing.T, config *rest.Config) gate.Clients {
	t.Helper()
	clients, err := gate.NewClients(config, kubernetes.NewForConfigOrDie(config).CoreV1())
	if err != nil {
		t.Fatal(err)
	}
	return clients
}

// TestCheck checks that the policy's condition says where a CEL expression is wrong.
func TestCheck(t *testing.T) {
	for expression, want := range map[string]string{
		"object.a == 1":             "",
		"has(object.a) && true":     "",
		"object.a ==":               "spec.gates[g].object.condition: line 1, column 12: Syntax error: mismatched input '<EOF>'",
		"object.a == 1 &&\n  obj.b": "spec.gates[g].object.condition: line 2, column 3: undeclared reference to 'obj'",
		"'text'":                    "must be true or false",
		"size(object.a)":            "must be true or false",
	} {
		err := gate.Check([]v1alpha1.Gate{{Name: "p", Prometheus: &v1alpha1.PrometheusGate{}}, {Name: "g", Object: &v1alpha1.ObjectGate{Name: "a", Condition: expression}}})
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", expression, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: the error has more than one line: %q", expression, err)
		}
	}
}
