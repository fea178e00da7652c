package api_test

import (
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestRecordsOfTheFirstVersionAreKept checks that the API server keeps the fields that records had at the top, and that
// such a record is read whole.
func TestRecordsOfTheFirstVersionAreKept(t *testing.T) {
	client := server(t)
	former := object(t, "UpgradeRecord", record(""))
	for field, value := range map[string]any{
		"upgrade": map[string]any{"name": "u", "uid": "former"}, "outcome": "RolledBack", "endTime": "2026-11-22T02:00:00Z", "requestReason": "CVE",
		"piece": int64(1), "pieces": int64(1), "nodes": []any{map[string]any{"name": "w1", "reason": "RolledBack"}},
		"ignoreChecks": []any{map[string]any{"id": "bare-pod", "reason": "tests"}},
	} {
		if err := unstructured.SetNestedField(former.Object, value, field); err != nil {
			t.Fatal(err)
		}
	}
	stored := create(t, client, former)
	defer remove(t, client, former)
	stored, err := client.Resource(v1alpha1.UpgradeRecords).Get(t.Context(), stored.GetName(), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	unstructured.RemoveNestedField(stored.Object, "spec") // which the first version did not write
	text, err := stored.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var read v1alpha1.UpgradeRecord
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	s := read.Spec
	if s.Upgrade.UID != "former" || s.Outcome != v1alpha1.OutcomeRolledBack || s.Comment != "CVE" || s.Piece != 1 || len(s.Nodes) != 1 || s.Nodes[0].Name != "w1" ||
		len(s.IgnoreChecks) != 1 || s.IgnoreChecks[0].Comment != "tests" || s.EndTime.IsZero() {
		t.Errorf("read %+v", s)
	}
}
