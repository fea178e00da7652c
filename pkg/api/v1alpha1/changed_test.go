package v1alpha1_test

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestWhatMayBeChanged(t *testing.T) {
	const patch, reboot = "spec: {type: Patch, version: v1.34.4}", "spec: {type: Reboot}"
	rows := []struct{ name, was, change, field, words string }{
		{"another version", patch, `{"spec":{"version":"v1.34.5"}}`, "spec.version", "cannot be changed"},
		{"no version", patch, `{"spec":{"version":null}}`, "spec.version", "cannot be changed"},
		{"another type", patch, `{"spec":{"type":"Minor"}}`, "spec.type", "cannot be changed"},
		{"no type", patch, `{"spec":{"type":null}}`, "spec.type", "cannot be changed"},
		{"a type of late", "spec: {version: v1.34.4}", `{"spec":{"type":"Minor"}}`, "spec.type", "cannot be changed"},
		{"a reboot's version", reboot, `{"spec":{"version":"v1.34.4"}}`, "spec.version", "cannot be changed"},
		{"suspend", patch, `{"spec":{"suspend":true}}`, "", ""},
		{"the strategy", patch, `{"spec":{"strategy":{"maxUnavailable":"20%"}}}`, "", ""},
		{"the start", reboot, `{"spec":{"startTime":"2026-12-24T18:00:00Z"}}`, "", ""},
	}
	client := server(t).Resource(resources["ClusterUpgrade"])
	ctx := context.Background()
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			u := object(t, "ClusterUpgrade", row.was)
			u.SetName("changed")
			if _, err := client.Create(ctx, u, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := client.Delete(ctx, "changed", metav1.DeleteOptions{}); err != nil {
					t.Error(err)
				}
			})
			_, err := client.Patch(ctx, "changed", types.MergePatchType, []byte(row.change), metav1.PatchOptions{})
			switch {
			case row.field == "" && err != nil:
				t.Errorf("refused: %v", err)
			case row.field != "" && (err == nil || !strings.Contains(err.Error(), row.field) || !strings.Contains(err.Error(), row.words)):
				t.Errorf("got %v, want a refusal that names %s", err, row.field)
			}
		})
	}
}

func TestWrongStatusIsRefused(t *testing.T) {
	rows := []struct{ kind, spec, status, field string }{
		{"MaintenanceSchedule", "spec: {}", `{"state":"Ajar"}`, "status.state"},
		{"ClusterUpgrade", "spec: {type: Reboot}", `{"outcome":"Fine"}`, "status.outcome"},
		{"ClusterUpgrade", "spec: {type: Reboot}", `{"findings":[{"id":"a","level":"Bad","message":"m"}]}`, "status.findings[0].level"},
		{"ClusterUpgrade", "spec: {type: Reboot}", `{"images":[{"architecture":"x86-64","url":"http://a/b","sha256":"x"}]}`, "status.images[0].sha256"},
		{"ClusterUpgrade", "spec: {type: Reboot}", `{"active":[{"name":"a","step":"Dancing"}]}`, "status.active[0].step"},
		{"NodeUpgrade", "{}", `{"step":"Dancing"}`, "status.step"},
		{"NodeUpgrade", "{}", `{"reason":"not a code"}`, "status.reason"},
		{"NodeUpgrade", "{}", `{"steps":[{"step":"Dancing","startedAt":"2026-01-01T00:00:00.000000Z"}]}`, "status.steps[0].step"},
	}
	client := server(t)
	ctx := context.Background()
	for _, row := range rows {
		resource := client.Resource(resources[row.kind])
		u := object(t, row.kind, row.spec)
		u.SetName("wrong-status")
		if _, err := resource.Create(ctx, u, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		_, err := resource.Patch(ctx, u.GetName(), types.MergePatchType, []byte(`{"status":`+row.status+`}`), metav1.PatchOptions{}, "status")
		if err == nil || !strings.Contains(err.Error(), row.field) {
			t.Errorf("%s %s: got %v, want a refusal that names %s", row.kind, row.status, err, row.field)
		}
		if err := resource.Delete(ctx, u.GetName(), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}
