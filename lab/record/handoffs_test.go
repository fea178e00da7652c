package record

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ordered is a NodeUpgrade with its order and its agent's step.
func ordered(name, release, step string) Moment {
	return Moment{Resource: "nodeupgrades", Object: &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": name},
		"spec":     map[string]any{"release": release}, "status": map[string]any{"step": step},
	}}}
}

func TestHandOffs(t *testing.T) {
	handOffs, err := HandOffs([]Moment{
		at(1, node(1, "w1", "ours", "True", "a")), at(1, slot(2, "slot-0", "w1/1")),
		at(2, node(3, "w2", "", "True", "a")), at(2, ordered("w2", "KubeadmAhead", "Waiting")),
		at(10, node(5, "w1", "", "True", "b")),
		at(11, slot(6, "slot-0", "")),
		at(13, ordered("w2", "Node", "Waiting")),
		at(17, slot(9, "slot-0", "w2/2")),
		at(22, node(11, "w2", "ours", "True", "a")),
		at(30, node(12, "w3", "ours", "True", "a")), at(31, node(13, "w2", "", "True", "a")), at(32, node(14, "w3", "", "True", "a")),
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(handOffs) != 1 {
		t.Fatalf("got %+v, want one: w2 and w3 were out of service together", handOffs)
	}
	if h := handOffs[0]; h.From != "w1" || h.To != "w2" || h.Length() != 12*time.Second {
		t.Errorf("got %s to %s in %s", h.From, h.To, h.Length())
	}
	var seconds []int
	for _, part := range handOffs[0].Parts() {
		seconds = append(seconds, int(part.Seconds()))
	}
	if diff := cmp.Diff([]int{1, 2, 4, 5}, seconds); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
