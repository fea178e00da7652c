package apitest

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

var customResourceDefinitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// InstallCRDs applies manifests/crd and returns when the server serves the
// kinds. To do so again is harmless.
func InstallCRDs(t testing.TB, config *rest.Config) {
	t.Helper()
	install(t, config, definitions(t))
}

// CreateWithoutRules calls create on CRDs that have no CEL rules, until it succeeds, and installs
// those of manifests/crd again: its object is as one that an earlier release accepted.
func CreateWithoutRules(t testing.TB, config *rest.Config, create func() error) {
	t.Helper()
	all := definitions(t)
	for _, definition := range all {
		removeRules(definition.Object)
	}
	install(t, config, all)
	// The server goes on with the former rules for a moment.
	err := create()
	for deadline := time.Now().Add(time.Minute); err != nil && time.Now().Before(deadline); err = create() {
		time.Sleep(50 * time.Millisecond)
	}
	if err != nil {
		t.Fatal(err)
	}
	InstallCRDs(t, config)
}

func removeRules(value any) {
	switch value := value.(type) {
	case map[string]any:
		delete(value, "x-kubernetes-validations")
		for _, field := range value {
			removeRules(field)
		}
	case []any:
		for _, element := range value {
			removeRules(element)
		}
	}
}

func install(t testing.TB, config *rest.Config, definitions []*unstructured.Unstructured) {
	t.Helper()
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	crds := client.Resource(customResourceDefinitions)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, definition := range definitions {
		name := definition.GetName()
		if _, err := crds.Apply(ctx, name, definition, metav1.ApplyOptions{FieldManager: "apitest", Force: true}); err != nil {
			t.Fatalf("applying %s: %v", name, err)
		}
		for !established(ctx, t, crds, name) {
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// parsed are the CRDs in manifests/crd, read once: each test of some packages installs them.
var parsed struct {
	sync.Mutex
	all []*unstructured.Unstructured
}

// definitions returns CRDs that the caller may change.
func definitions(t testing.TB) []*unstructured.Unstructured {
	t.Helper()
	parsed.Lock()
	defer parsed.Unlock()
	if parsed.all == nil {
		parsed.all = readDefinitions(t)
	}
	var all []*unstructured.Unstructured
	for _, one := range parsed.all {
		all = append(all, one.DeepCopy())
	}
	return all
}

func readDefinitions(t testing.TB) []*unstructured.Unstructured {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(Root(t), "manifests", "crd", v1alpha1.Group+"_*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("looking for the CRDs in manifests/crd: %d files, %v", len(files), err)
	}
	var all []*unstructured.Unstructured
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		definition := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(text, &definition.Object); err != nil {
			t.Fatalf("reading %s: %v", file, err)
		}
		all = append(all, definition)
	}
	return all
}

func established(ctx context.Context, t testing.TB, crds dynamic.ResourceInterface, name string) bool {
	t.Helper()
	crd, err := crds.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		t.Fatalf("waiting for %s to be served: %v", name, err)
	}
	conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
	for _, condition := range conditions {
		c := condition.(map[string]any)
		if c["type"] == "Established" && c["status"] == "True" {
			return true
		}
	}
	return false
}

// Root is the checkout's folder.
func Root(t testing.TB) string {
	t.Helper()
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return folder
		}
		if folder == filepath.Dir(folder) {
			t.Fatal("looking for go.mod above the test: not there")
		}
		folder = filepath.Dir(folder)
	}
}
