package api_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// ended is the status of an upgrade that has ended.
const ended = `triggerTime: "2026-11-22T01:00:00Z", endTime: "2026-11-22T02:00:00Z", outcome: Failed,
	images: [{architecture: amd64, url: 'https://images.example/k.raw', digest: '` + digest + `'}]`

// TestFieldsThatAreSetOnce checks that fields which are set at the trigger or the end cannot be
// changed: images decide what runs as root, and an outcome is final.
func TestFieldsThatAreSetOnce(t *testing.T) {
	const again = "is set once"
	other := strings.Replace(digest, "0", "1", 1)
	rows := []struct{ name, change, field, words string }{
		{"another trigger", `{"triggerTime":"2026-11-22T01:00:01Z"}`, "status.triggerTime", again},
		{"no trigger", `{"triggerTime":null}`, "status.triggerTime", again},
		{"another end", `{"endTime":"2026-11-22T02:00:01Z"}`, "status.endTime", again},
		{"no end", `{"endTime":null}`, "status.endTime", again},
		{"another outcome", `{"outcome":"Succeeded"}`, "status.outcome", again},
		{"no outcome", `{"outcome":null}`, "status.outcome", again},
		{"another image", `{"images":[{"architecture":"amd64","url":"https://images.example/k.raw","digest":"` + other + `"}]}`, "status.images", "are fixed at the trigger"},
		{"another address", `{"images":[{"architecture":"amd64","url":"https://evil.example/k.raw","digest":"` + digest + `"}]}`, "status.images", "are fixed at the trigger"},
		{"one more image", `{"images":[{"architecture":"amd64","url":"https://images.example/k.raw","digest":"` + digest + `"},{"architecture":"arm64","url":"https://images.example/k.raw","digest":"` + digest + `"}]}`,
			"status.images", "are fixed at the trigger"},
		{"no image", `{"images":null}`, "status.images", "are fixed at the trigger"},
		{"no status", `null`, "status.outcome", again},
		{"a progress", `{"progress":"1/3"}`, "", ""},
		{"an observed generation", `{"observedGeneration":7}`, "", ""},
	}
	client := server(t).Resource(resources["ClusterUpgrade"])
	u := object(t, "ClusterUpgrade", named("ended", "spec: {version: v1.34.4}"))
	create(t, server(t), u)
	defer remove(t, server(t), u)
	ctx := context.Background()
	if _, err := client.ApplyStatus(ctx, "ended", withStatus(t, u, "{"+ended+"}"), metav1.ApplyOptions{FieldManager: "coordinator"}); err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		_, err := client.Patch(ctx, "ended", types.MergePatchType, []byte(`{"status":`+row.change+`}`), metav1.PatchOptions{}, "status")
		check(t, row.name, err, row.field, row.words)
	}
	for name, status := range map[string]string{
		"nothing":      "{observedGeneration: 1}",
		"other things": "{" + strings.NewReplacer("01:00:00", "01:00:01", "02:00:00", "02:00:01", "Failed", "Succeeded", "sha256:0", "sha256:1").Replace(ended) + "}",
	} {
		for _, field := range []string{"status.triggerTime", "status.images", "status.outcome", "status.endTime"} {
			_, err := client.ApplyStatus(ctx, "ended", withStatus(t, u, status), metav1.ApplyOptions{FieldManager: "coordinator", Force: true})
			check(t, "its manager applies "+name, err, field, "")
		}
	}
}

// TestImagesMayChangeUntilTrigger checks that images may change until the trigger, as the source
// may.
func TestImagesMayChangeUntilTrigger(t *testing.T) {
	client := server(t)
	u := object(t, "ClusterUpgrade", named("queued", "spec: {version: v1.34.4}"))
	create(t, client, u)
	defer remove(t, client, u)
	for _, status := range []string{"{observedGeneration: 1}", "{" + ended + "}", "{" + ended + ", progress: 1/3}"} {
		if _, err := client.Resource(resources["ClusterUpgrade"]).ApplyStatus(context.Background(), "queued", withStatus(t, u, status), metav1.ApplyOptions{FieldManager: "coordinator"}); err != nil {
			t.Errorf("%s: %v", status, err)
		}
	}
}

// TestRecordIsImmutable checks that no field of a record can be changed, except labels and
// finalizers.
func TestRecordIsImmutable(t *testing.T) {
	full := record(`, type: Minor, fromVersion: v1.34.4, version: v1.35.4, reason: KubeadmFailed, message: m, comment: r, createdBy: coordinator, requestedBy: alice, triggerTime: "2026-11-22T01:00:00Z",
		etcdSnapshot: {node: cp1, path: /x, digest: "` + digest + `", creationTime: "2026-11-22T01:00:00Z"}, ignoreChecks: [{id: kured, comment: it is off}],
		digests: [{architecture: amd64, digest: "` + digest + `"}], counts: {total: 1, done: 0, active: 0, waiting: 0, blocked: 1, unsupported: 0}, nodes: [{name: a, attempts: 1, steps: [{step: Kubeadm, startTime: "2026-11-22T01:00:00.000000Z"}]}]`)
	for name, text := range map[string]string{"with every field": full, "with none that may be absent": record("")} {
		t.Run(name, func(t *testing.T) { neverChanged(t, text) })
	}
}

func neverChanged(t *testing.T, text string) {
	client := server(t)
	u := object(t, "UpgradeRecord", text)
	stored := create(t, client, u)
	defer remove(t, client, u)
	records := client.Resource(resources["UpgradeRecord"])
	for field, value := range map[string]string{
		"upgrade": `{"name":"other","uid":"2"}`, "type": `"Patch"`, "fromVersion": `"v1.33.0"`, "version": `"v1.36.0"`, "outcome": `"Succeeded"`,
		"reason": `"Unhealthy"`, "message": `"other"`, "comment": `"other"`, "createdBy": `"me"`, "requestedBy": `"me"`, "triggerTime": `"2026-11-22T01:00:01Z"`, "endTime": `"2026-11-22T02:00:01Z"`,
		"ignoreChecks": `[{"id":"kured","comment":"it is on"}]`, "etcdSnapshot": `{"node":"cp2","path":"/x","digest":"` + digest + `","creationTime":"2026-11-22T01:00:00Z"}`,
		"counts": `{"total":9,"done":0,"active":0,"waiting":0,"blocked":1,"unsupported":0}`, "piece": "2", "pieces": "2",
		"digests": `[{"architecture":"amd64","digest":"sha256:11"}]`,
		"nodes":   `[{"name":"a","attempts":2,"steps":[{"step":"Kubeadm","startTime":"2026-11-22T01:00:00.000000Z"}]}]`,
	} {
		changes := []string{value}
		if _, there := stored.Object["spec"].(map[string]any)[field]; there {
			changes = append(changes, "null")
		}
		for _, change := range changes {
			_, err := records.Patch(t.Context(), u.GetName(), types.MergePatchType, []byte(`{"spec":{"`+field+`":`+change+`}}`), metav1.PatchOptions{})
			if err == nil {
				t.Errorf("%s: %s is accepted", field, change)
			}
		}
		applied := object(t, "UpgradeRecord", text)
		var other any
		if err := yaml.Unmarshal([]byte(value), &other); err != nil {
			t.Fatal(err)
		}
		applied.Object["spec"].(map[string]any)[field] = other
		_, err := records.Apply(t.Context(), u.GetName(), applied, metav1.ApplyOptions{FieldManager: "coordinator", Force: true})
		check(t, "applying "+field, err, "", "a record is never changed")
	}
	if _, err := records.Patch(t.Context(), u.GetName(), types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{}); err != nil {
		t.Errorf("a label is refused: %v", err)
	}
	left, err := records.Get(t.Context(), u.GetName(), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	delete(stored.Object, "metadata")
	delete(left.Object, "metadata")
	if diff := cmp.Diff(stored.Object, left.Object); diff != "" {
		t.Errorf("the record was changed (-before +after):\n%s", diff)
	}
}

// withStatus returns the object that a client applies to write that status.
func withStatus(t *testing.T, u *unstructured.Unstructured, status string) *unstructured.Unstructured {
	t.Helper()
	return object(t, u.GetKind(), named(u.GetName(), "status: "+status))
}

// check checks that err is a refusal with the field and the words, or nil if there are none.
func check(t *testing.T, name string, err error, field, words string) {
	t.Helper()
	switch {
	case field == "" && words == "" && err != nil:
		t.Errorf("%s is refused: %v", name, err)
	case field+words != "" && (err == nil || !strings.Contains(err.Error(), field) || !strings.Contains(err.Error(), words)):
		t.Errorf("%s: got %v, want a refusal that names %s and says %q", name, err, field, words)
	}
}

// TestLargestRecordMayBeLabelled checks that the rule which compares two large records does not
// exceed the API server's cost limit.
func TestLargestRecordMayBeLabelled(t *testing.T) {
	client := server(t)
	var nodes []any
	for i := range 500 {
		var steps []any
		for range 6 {
			steps = append(steps, map[string]any{"step": "Snapshotting", "startTime": "2026-11-22T01:00:00.000000Z", "endTime": "2026-11-22T01:00:00.000000Z"})
		}
		nodes = append(nodes, map[string]any{"name": fmt.Sprintf("node-%d", i), "from": "v1.34.4", "to": "v1.35.4", "steps": steps})
	}
	u := object(t, "UpgradeRecord", record(""))
	u.Object["nodes"] = nodes
	create(t, client, u)
	defer remove(t, client, u)
	if _, err := client.Resource(resources["UpgradeRecord"]).Patch(t.Context(), u.GetName(), types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{}); err != nil {
		t.Error(err)
	}
}
