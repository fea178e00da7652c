package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestSnapshotFiles checks what is said about files that are no snapshot, or a changed one: the
// line, and no word of Go.
func TestSnapshotFiles(t *testing.T) {
	const head = `{"apiVersion": "output.kubectl-upgrade.dev/v1alpha1", "kind": "ClusterSnapshot", "takenAt": "2026-11-21T12:00:00Z",` + "\n"
	for name, test := range map[string]struct{ text, want string }{
		"nothing":               {"", "it is no ClusterSnapshot (line 1: it is empty); `kubectl upgrade plan"},
		"text":                  {"hello", "it is no ClusterSnapshot (line 1: it is text, not an object); `kubectl"},
		"a list":                {"[1]", "it is no ClusterSnapshot (line 1: it is a list, not an object); `kubectl"},
		"a number":              {"5", "it is no ClusterSnapshot (line 1: it is a number, not an object); `kubectl"},
		"cut":                   {head + `"nodes": [`, "it is no ClusterSnapshot (line 2: it is not valid JSON: it ends too early); `kubectl"},
		"another kind":          {`{"apiVersion": "v1", "kind": "Pod"}`, "it is no ClusterSnapshot (line 1: it has no apiVersion output.kubectl-upgrade.dev/v1alpha1 with kind ClusterSnapshot); `kubectl"},
		"without a time":        {strings.Replace(head, "takenAt", "policy", 1) + `"nodes": []}`, "line 1: policy: must be an object, not text; another version"},
		"a zero time":           {strings.Replace(head, "2026-11-21T12:00:00Z", "0001-01-01T00:00:00Z", 1) + `"nodes": []}`, "takenAt is missing; `kubectl"},
		"no time":               {strings.Replace(head, "2026-11-21T12:00:00Z", "noon", 1) + `"nodes": []}`, `line 1: takenAt: "noon" is not a time with an offset, such as`},
		"nothing in a list":     {head + `"nodes": [],` + "\n" + `"upgrades": [null]}`, "line 3: upgrades[0]: is empty (null), and must be an object; leave"},
		"an upgrade's name":     {head + `"nodes": [],` + "\n" + `"upgrades": [{"metadata": {},` + "\n" + `"spec": {"version": "v1.35.4"}}]}`, "line 3: upgrades[0].metadata.name: is missing; another version"},
		"a node's name":         {head + `"nodes": [{"name": "a"},` + "\n" + `{"kubelet": "v1.35.4"}]}`, "nodes[1]"},
		"another type":          {head + `"nodes": [{"name": "a"},` + "\n" + `{"name":` + "\n" + `7}]}`, "line 3: nodes[1].name: must be text, not a number; another version"},
		"another type of lists": {head + `"nodes": {}}`, "line 2: nodes: must be a list, not an object; another version"},
		"a field twice":         {head + `"nodes": [],` + "\n" + `"nodes": []}`, "line 3: nodes: is there twice; another version"},
		"an unknown field":      {head + `"nodes": [{"name": "a",` + "\n" + `"mood": "bad"}]}`, `line 3: unknown field "nodes[0].mood"; another version`},
		"two":                   {head + `"nodes": []}` + "\n" + head + `"nodes": []}`, "document 2, line 3: only one object was expected"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "s.json")
			if err := os.WriteFile(file, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := loadSnapshot(file)
			if err == nil || !strings.HasPrefix(err.Error(), "reading "+file+": ") || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got  %v\nwant reading FILE: %s", err, test.want)
			}
		})
	}
	file := filepath.Join(t.TempDir(), "s.json")
	if err := os.WriteFile(file, []byte("\ufeff"+head+`"nodes": null, "upgrades": []}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := loadSnapshot(file); err != nil {
		t.Errorf("a good one with a byte order mark: %v", err)
	}
	former := strings.NewReplacer("output.", "", "ClusterSnapshot", "FleetSnapshot").Replace(head)
	if err := os.WriteFile(file, []byte(former+`"nodes": [{"name": "a"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if shot, err := loadSnapshot(file); err != nil || shot.Kind != snapshotKind || shot.APIVersion != v1alpha1.OutputVersion || len(shot.Nodes) != 1 {
		t.Errorf("one with the former kind: %s with %d nodes, %v", shot.Kind, len(shot.Nodes), err)
	}
	const fields = `"nodes": [], "upgrades": [{"metadata": {"name": "u"}, "spec": {"version": "v1.35.4", "reason": "why", "retryOf": "t"}}],
		"policy": {"metadata": {"name": "cluster"}, "spec": {"notices": [{"name": "a", "urlSecret": "s"}]}}}`
	if err := os.WriteFile(file, []byte(strings.Replace(head, "output.", "", 1)+fields), 0o600); err != nil {
		t.Fatal(err)
	}
	if shot, err := loadSnapshot(file); err != nil || shot.Upgrades[0].Spec.Comment != "why" || shot.Upgrades[0].Spec.RetryOf.Name != "t" || shot.Policy.Spec.Notices[0].URLSecretRef.Name != "s" {
		t.Errorf("one with fields of an earlier version: %+v, %v", shot.Upgrades, err)
	}
	if err := os.WriteFile(file, []byte(former+`"nodes": [{"name": "a", "mood": "bad"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := loadSnapshot(file); err == nil || !strings.Contains(err.Error(), `unknown field "nodes[0].mood"`) {
		t.Errorf("one with the former kind and an unknown field: %v", err)
	}
}
