package capi

import (
	"context"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
)

// rack has two control planes and one worker, and remembers what was done.
type rack struct{ done []string }

func (r *rack) Names(controlPlane bool) []string {
	if controlPlane {
		return []string{"cp1", "cp2"}
	}
	return []string{"w1"}
}
func (r *rack) Address(string) (string, error) { return "10.88.0.11", nil }
func (r *rack) Boot(_ context.Context, name string, _ []byte) error {
	r.done = append(r.done, "boot "+name)
	return nil
}

func (r *rack) Discard(_ context.Context, name string) error {
	r.done = append(r.done, "discard "+name)
	return nil
}

func labMachine(name, owner string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "LabMachine"}}
	object.SetName(name)
	object.SetNamespace(Namespace)
	if owner != "" {
		object.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "Machine", Name: owner, UID: "1"}})
	}
	return object
}

// TestProvider makes a machine once its bootstrap data is there, keeps its node for it, and gives the
// node to another machine when it is gone.
func TestProvider(t *testing.T) {
	machine := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
		"metadata": map[string]any{"name": "m", "namespace": Namespace},
		"spec":     map[string]any{"bootstrap": map[string]any{"dataSecretName": "data"}},
	}}
	secret := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "data", "namespace": Namespace},
		"data": map[string]any{"value": "e30="}, // {}
	}}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		labClusters: "LabClusterList", labMachines: "LabMachineList", machines: "MachineList", secrets: "SecretList",
	}, labMachine("a", "m"), labMachine("b", ""), machine, secret)
	all := &rack{}
	p := &provider{client: client, machines: all}
	round := func() {
		t.Helper()
		if err := p.round(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	get := func(name string) *unstructured.Unstructured {
		t.Helper()
		found, err := client.Resource(labMachines).Namespace(Namespace).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	round()
	if a := get("a"); nodeOf(a) != "w1" || !isProvisioned(a) {
		t.Errorf("a is %v", a.Object)
	}
	if said := conditionOf(get("b")); said["reason"] != "NoFreeNode" {
		t.Errorf("b says %v, want that there is no free node", said)
	}
	round()
	if !slices.Equal(all.done, []string{"boot w1"}) {
		t.Errorf("done: %v, want one boot", all.done)
	}

	leaving := get("a")
	now := metav1.Now()
	leaving.SetDeletionTimestamp(&now)
	if _, err := client.Resource(labMachines).Namespace(Namespace).Update(t.Context(), leaving, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	round()
	if got := get("a").GetFinalizers(); len(got) != 0 || !slices.Contains(all.done, "discard w1") {
		t.Errorf("a has the finalizers %v after %v", got, all.done)
	}
	if err := client.Resource(labMachines).Namespace(Namespace).Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	round()
	if b := get("b"); nodeOf(b) != "w1" || isProvisioned(b) {
		t.Errorf("b is %v, want it to have w1 and to wait for its data", b.Object)
	}
}
