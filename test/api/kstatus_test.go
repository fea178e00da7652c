package api_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// conditions returns the field with these conditions, each as TYPE=STATUS/REASON.
func conditions(list ...string) string {
	var all []string
	for _, text := range list {
		kind, rest, _ := strings.Cut(text, "=")
		value, reason, _ := strings.Cut(rest, "/")
		all = append(all, `{type: `+kind+`, status: "`+value+`", reason: `+reason+`, message: m, observedGeneration: 1, lastTransitionTime: "2026-11-22T01:00:00Z"}`)
	}
	return "conditions: [" + strings.Join(all, ", ") + "]"
}

// TestKstatusUnderstandsOurKinds checks that Flux, Argo CD and kubectl can wait for our objects.
func TestKstatusUnderstandsOurKinds(t *testing.T) {
	const upgrade, schedule, seen = "spec: {version: v1.34.4}", "spec: {}", "observedGeneration: 1, "
	rows := []struct {
		name, kind, spec, status string
		want                     status.Status
	}{
		{"a fresh schedule", "MaintenanceSchedule", schedule, "", status.InProgressStatus},
		{"a schedule", "MaintenanceSchedule", schedule, seen + "state: Closed, " + conditions("Valid=True/Valid", "Ready=True/Valid", "Open=False/Closed"), status.CurrentStatus},
		{"an invalid schedule", "MaintenanceSchedule", schedule, seen + conditions("Valid=False/ScheduleInvalid", "Ready=False/ScheduleInvalid", "Stalled=True/ScheduleInvalid"), status.FailedStatus},

		{"a fresh policy", "UpgradePolicy", "metadata: {name: cluster}", "", status.InProgressStatus},
		{"a policy", "UpgradePolicy", "metadata: {name: cluster}", seen + conditions("Valid=True/Valid", "SourceReady=True/Read", "Ready=True/Read"), status.CurrentStatus},
		{"a policy whose source is away", "UpgradePolicy", "metadata: {name: cluster}", seen + conditions("Valid=True/Valid", "SourceReady=False/SourceUnavailable", "Ready=False/SourceUnavailable"), status.InProgressStatus},
		{"an invalid policy", "UpgradePolicy", "metadata: {name: cluster}", seen + conditions("Valid=False/SourceInvalid", "Ready=False/SourceInvalid", "Stalled=True/SourceInvalid"), status.FailedStatus},

		{"a fresh upgrade", "ClusterUpgrade", upgrade, "", status.InProgressStatus},
		{"an upgrade that waits", "ClusterUpgrade", upgrade, seen + conditions("Succeeded=Unknown/WindowClosed", "Reconciling=True/WindowClosed"), status.InProgressStatus},
		{"an upgrade that is suspended", "ClusterUpgrade", "spec: {version: v1.34.4, suspend: true}", seen + conditions("Succeeded=Unknown/Suspended", "Reconciling=True/Suspended"), status.InProgressStatus},
		{"an upgrade that waits for an approval", "ClusterUpgrade", upgrade, seen + conditions("Succeeded=Unknown/ApprovalRequired", "Reconciling=True/ApprovalRequired"), status.InProgressStatus},
		{"an upgrade that is only observed", "ClusterUpgrade", upgrade, seen + conditions("Succeeded=Unknown/Observed", "Reconciling=True/Observed"), status.InProgressStatus},
		{"an upgrade that is stuck", "ClusterUpgrade", upgrade, seen + conditions("Succeeded=Unknown/Preflight", "Stalled=True/Preflight"), status.FailedStatus},
		{"an upgrade that succeeded", "ClusterUpgrade", upgrade, seen + "outcome: Succeeded, " + conditions("Succeeded=True/UpToDate"), status.CurrentStatus},
		{"an upgrade that failed", "ClusterUpgrade", upgrade, seen + "outcome: Failed, " + conditions("Succeeded=False/KubeadmFailed", "Stalled=True/KubeadmFailed"), status.FailedStatus},
		{"an upgrade that changed since", "ClusterUpgrade", upgrade, "observedGeneration: 0, outcome: Succeeded, " + conditions("Succeeded=True/UpToDate"), status.InProgressStatus},

		{"a fresh node", "NodeUpgrade", "{}", "", status.InProgressStatus},
		{"a node that waits, and was never seen", "NodeUpgrade", "{}", conditions("Admitted=False/WindowClosed"), status.InProgressStatus},
		{"an idle node", "NodeUpgrade", "{}", seen + "step: Idle, " + conditions("UpToDate=True/UpToDate"), status.CurrentStatus},
		{"a node that waits", "NodeUpgrade", "{}", seen + "step: Waiting, " + conditions("Admitted=False/WindowClosed", "UpToDate=False/AwaitingRelease", "Reconciling=True/AwaitingRelease"), status.InProgressStatus},
		{"a node that failed", "NodeUpgrade", "{}", seen + "step: Failed, " + conditions("UpToDate=False/KubeadmFailed", "Stalled=True/KubeadmFailed"), status.FailedStatus},

		{"a record", "UpgradeRecord", record(""), "", status.CurrentStatus},
		{"an inventory", "NodeInventory", `gatheredTime: "2026-11-22T01:00:00Z"`, "", status.CurrentStatus},
		{"what the coordinator remembers", "CoordinatorState", "metadata: {name: cluster}", "", status.CurrentStatus},
	}
	client := server(t)
	var seenByArgo []any
	for _, row := range rows {
		u := object(t, row.kind, row.spec)
		stored := create(t, client, u)
		if row.status != "" {
			var err error
			stored, err = client.Resource(resources[row.kind]).ApplyStatus(t.Context(), u.GetName(), withStatus(t, u, "{"+row.status+"}"), metav1.ApplyOptions{FieldManager: "test", Force: true})
			if err != nil {
				t.Fatalf("%s: %v", row.name, err)
			}
		}
		got, err := status.Compute(stored)
		if err != nil || got.Status != row.want {
			t.Errorf("%s: got %+v, %v; want %s", row.name, got, err, row.want)
		}
		object := map[string]any{"kind": row.kind, "metadata": map[string]any{"generation": stored.GetGeneration()}}
		for _, part := range []string{"spec", "status"} {
			if value, found := stored.Object[part]; found {
				object[part] = value
			}
		}
		seenByArgo = append(seenByArgo, map[string]any{"name": row.name, "kstatus": row.want.String(), "object": object})
		remove(t, client, u)
	}
	// The health check for Argo CD is tested with the same objects: test/othertools.
	golden(t, "testdata/kstatus.yaml", seenByArgo)
}

var update = flag.Bool("update", false, "write testdata")

// golden compares a value, as YAML, with a file.
func golden(t *testing.T, path string, value any) {
	t.Helper()
	text, err := yaml.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(text)); diff != "" {
		t.Errorf("%s (-file +got); -update writes it:\n%s", path, diff)
	}
}
