package slot

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plan"
)

func TestFromLease(t *testing.T) {
	a := plan.Owner{Node: "a", UID: "1"}
	for name, test := range map[string]struct {
		reserved, holder string
		want             Slot
		fails            bool
	}{
		"free":     {want: Slot{Name: "slot-0"}},
		"reserved": {reserved: "a/1", want: Slot{Name: "slot-0", ReservedFor: a}},
		"held":     {reserved: "a/1", holder: "a/1", want: Slot{Name: "slot-0", ReservedFor: a, Holder: a}},
		"a holder that nobody can read is nobody's, and an error": {holder: "a", want: Slot{Name: "slot-0"}, fails: true},
		"so is a reservation": {reserved: "a/", holder: "a/1", want: Slot{Name: "slot-0", Holder: a}, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "slot-0"}}
			if test.reserved != "" {
				lease.Annotations = map[string]string{v1alpha1.ReservedForAnnotation: test.reserved}
			}
			if test.holder != "" {
				lease.Spec.HolderIdentity = ptr.To(test.holder)
			}
			got, err := FromLease(lease)
			if diff := cmp.Diff(test.want, got); diff != "" || (err != nil) != test.fails {
				t.Errorf("error %v\n%s", err, diff)
			}
		})
	}
}

func TestIndex(t *testing.T) {
	for name, want := range map[string]int{"slot-0": 0, "slot-12": 12, "slot-": -1, "slot-01": -1, "slot--1": -1, "other": -1} {
		got, ok := Slot{Name: name}.Index()
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("%s: got %d %t, want %d", name, got, ok, want)
		}
	}
}
