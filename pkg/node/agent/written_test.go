package agent

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// TestOwnWrites checks that what the agent wrote counts until the watch shows another version, or another
// Node of that name.
func TestOwnWrites(t *testing.T) {
	node := func(uid types.UID, version string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "w1", UID: uid, ResourceVersion: version}}
	}
	written := node("u", "8")
	write := nodeWrite{before: "7", node: written}
	if got := write.orShown(node("u", "7")); got != written {
		t.Errorf("the watch shows what was changed: got version %s, want what was written", got.ResourceVersion)
	}
	for _, shown := range []*corev1.Node{node("u", "8"), node("u", "9"), node("another", "7"), nil} {
		if got := write.orShown(shown); got != shown {
			t.Errorf("the watch shows %v: got %v", shown, got)
		}
	}

	me, next := fleet.Owner{Node: "w1", UID: "u"}, fleet.Owner{Node: "w2", UID: "v"}
	took, freed := leaseWrite{name: "slot-0", before: "7", holder: me}, leaseWrite{name: "slot-0", before: "7"}
	for name, test := range map[string]struct {
		write       leaseWrite
		version     string
		shown, want fleet.Slot
	}{
		"taken":                   {took, "7", fleet.Slot{Name: "slot-0", ReservedFor: me}, fleet.Slot{Name: "slot-0", ReservedFor: me, Holder: me}},
		"another version":         {took, "8", fleet.Slot{Name: "slot-0"}, fleet.Slot{Name: "slot-0"}},
		"another slot":            {took, "7", fleet.Slot{Name: "slot-1"}, fleet.Slot{Name: "slot-1"}},
		"freed":                   {freed, "7", fleet.Slot{Name: "slot-0", ReservedFor: me, Holder: me}, fleet.Slot{Name: "slot-0"}},
		"freed, next is reserved": {freed, "7", fleet.Slot{Name: "slot-0", ReservedFor: next, Holder: me}, fleet.Slot{Name: "slot-0", ReservedFor: next}},
	} {
		got := test.shown
		if test.write.showIn(&got, test.version); got != test.want {
			t.Errorf("%s: got %+v, want %+v", name, got, test.want)
		}
	}
}
