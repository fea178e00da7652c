package metrics_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/metrics"
)

func TestBudgets(t *testing.T) {
	for message, want := range map[string][]metrics.Budget{
		"not drained within 15m: 3 pods remain; cannot be evicted now: a/x: The disruption budget one needs 2 healthy pods and has 2 currently, " +
			"a/y: The disruption budget one needs 2 healthy pods and has 2 currently, b/z: The disruption budget two needs 1 healthy pods and has 1 currently": {{Namespace: "a", Name: "one"}, {Namespace: "b", Name: "two"}},
		"1 pod blocks the drain: default/x has no controller": {{}},
		"": {{}},
	} {
		if diff := cmp.Diff(want, metrics.Budgets(message)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", message, diff)
		}
	}
}
