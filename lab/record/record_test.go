package record

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func node(revision int64, name, cordon, ready, boot string, labels ...string) Moment {
	meta := map[string]any{"name": name, "labels": map[string]any{}, "annotations": map[string]any{}}
	for _, label := range labels {
		meta["labels"].(map[string]any)[label] = ""
	}
	if cordon == "ours" {
		meta["annotations"].(map[string]any)["kubectl-upgrade.dev/cordoned-for"] = "v1.34.4"
	}
	return Moment{Revision: revision, Resource: "nodes", Object: &unstructured.Unstructured{Object: map[string]any{
		"metadata": meta,
		"spec":     map[string]any{"unschedulable": cordon != ""},
		"status": map[string]any{
			"nodeInfo":   map[string]any{"bootID": boot, "kubeletVersion": "v1.34.3"},
			"conditions": []any{map[string]any{"type": "Ready", "status": ready}},
		},
	}}}
}

func slot(revision int64, name, holder string) Moment {
	return Moment{Revision: revision, Resource: "leases", Object: &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": name, "labels": map[string]any{"kubectl-upgrade.dev/slot": "true"}},
		"spec":     map[string]any{"holderIdentity": holder},
	}}}
}

const master = "node-role.kubernetes.io/control-plane"

// joined returns what was broken, a line each.
func joined(broken []Broken) string {
	var lines []string
	for _, b := range broken {
		lines = append(lines, b.Message)
	}
	return strings.Join(lines, "\n")
}

func TestPromises(t *testing.T) {
	up := []Moment{node(1, "cp1", "", "True", "a", master), node(2, "w1", "", "True", "b"), node(3, "w2", "", "True", "c")}
	tests := map[string]struct {
		then    []Moment
		foreign []string
		want    string // part of what is reported; "" for nothing
	}{
		"one at a time, with its slot": {then: []Moment{
			slot(4, "slot-0", "w1/x"), node(5, "w1", "ours", "True", "b"), node(6, "w1", "", "True", "d"), slot(7, "slot-0", ""),
			slot(8, "slot-0", "w2/y"), node(9, "w2", "ours", "False", "c"), node(10, "w2", "", "True", "e"), slot(11, "slot-0", ""),
		}},
		"two at once": {then: []Moment{
			slot(4, "slot-0", "w1/x"), slot(5, "slot-1", "w2/y"), node(6, "w1", "ours", "True", "b"), node(7, "w2", "ours", "True", "c"),
		}, want: "2 nodes down at once: w1, w2"},
		"cordoned before the slot":      {then: []Moment{node(4, "w1", "ours", "True", "b"), slot(5, "slot-0", "w1/x")}, want: "w1 is down (cordoned true, Ready true) and holds no slot"},
		"freed before the uncordon":     {then: []Moment{slot(4, "slot-0", "w1/x"), node(5, "w1", "ours", "True", "b"), slot(6, "slot-0", "")}, want: "holds no slot"},
		"somebody else's cordon":        {then: []Moment{node(4, "w2", "theirs", "True", "c")}, foreign: []string{"w2"}},
		"somebody else's, not expected": {then: []Moment{node(4, "w2", "theirs", "True", "c")}, want: "w2 is down"},
		"NotReady counts all the same":  {then: []Moment{node(4, "w2", "theirs", "False", "c")}, foreign: []string{"w2"}, want: "Ready false"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			broken, err := Promises(append(up[:3:3], test.then...), 1, test.foreign...)
			if err != nil {
				t.Fatal(err)
			}
			got := joined(broken)
			if (test.want == "") != (got == "") || !strings.Contains(got, test.want) {
				t.Errorf("reported %q, want %q", got, test.want)
			}
		})
	}
}

func TestBootIDsAndDisturbed(t *testing.T) {
	moments := []Moment{node(1, "w1", "", "True", "a"), node(2, "w1", "ours", "True", "a"), node(3, "w1", "", "True", "b")}
	boots, err := BootIDs(moments)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(boots["w1"], " "); got != "a b" {
		t.Errorf("boot ids of w1: %q, want %q", got, "a b")
	}
	done, err := Disturbed(moments)
	if err != nil {
		t.Fatal(err)
	}
	if len(done) != 2 || !strings.Contains(done[0], "cordoned by us") || !strings.Contains(done[1], "rebooted") {
		t.Errorf("disturbed: %q", done)
	}
	if quiet, _ := Disturbed(moments[:1]); len(quiet) != 0 {
		t.Errorf("disturbed before anything happened: %q", quiet)
	}
}
