package api_test

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

func TestMain(m *testing.M) { apitest.Main(m) }

var resources = map[string]schema.GroupVersionResource{
	"MaintenanceSchedule": v1alpha1.MaintenanceSchedules,
	"ClusterUpgrade":      v1alpha1.ClusterUpgrades,
	"NodeUpgrade":         v1alpha1.NodeUpgrades,
	"UpgradePolicy":       v1alpha1.UpgradePolicies,
	"UpgradeRecord":       v1alpha1.UpgradeRecords,
	"NodeInventory":       v1alpha1.NodeInventories,
	"CoordinatorState":    v1alpha1.CoordinatorStates,
}

// server is a real API server with our kinds.
func server(t *testing.T) dynamic.Interface {
	t.Helper()
	config := apitest.Start(t)
	apitest.InstallCRDs(t, config)
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// object reads YAML and adds apiVersion and, where there is none, a name.
func object(t *testing.T, kind, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict([]byte(text), &u.Object); err != nil {
		t.Fatalf("reading the test's YAML: %v\n%s", err, text)
	}
	u.SetAPIVersion(v1alpha1.GroupVersion.String())
	u.SetKind(kind)
	if u.GetName() == "" {
		u.SetName("example")
	}
	return u
}

// dryRun creates the object as a dry run with strict validation, as kubectl does.
func dryRun(client dynamic.Interface, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return client.Resource(resources[u.GetKind()]).Create(context.Background(), u,
		metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict})
}

// create creates the object and returns what the server answers.
func create(t *testing.T, client dynamic.Interface, u *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	created, err := client.Resource(resources[u.GetKind()]).Create(context.Background(), u, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	if err != nil {
		t.Fatal(err)
	}
	return created
}

func remove(t *testing.T, client dynamic.Interface, u *unstructured.Unstructured) {
	t.Helper()
	if err := client.Resource(resources[u.GetKind()]).Delete(context.Background(), u.GetName(), metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
}
