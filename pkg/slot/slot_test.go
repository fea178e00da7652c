package slot

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

func TestFromLease(t *testing.T) {
	a := clusterstate.Owner{Node: "a", UID: "1"}
	for name, test := range map[string]struct {
		reserved, holder string
		want             clusterstate.Slot
		fails            bool
	}{
		"free":                              {want: clusterstate.Slot{Name: "slot-0"}},
		"reserved":                          {reserved: "a/1", want: clusterstate.Slot{Name: "slot-0", ReservedFor: a}},
		"held":                              {reserved: "a/1", holder: "a/1", want: clusterstate.Slot{Name: "slot-0", ReservedFor: a, Holder: a}},
		"a holder that cannot be read":      {holder: "a", want: clusterstate.Slot{Name: "slot-0", Unreadable: true}, fails: true},
		"a reservation that cannot be read": {reserved: "a/", holder: "a/1", want: clusterstate.Slot{Name: "slot-0", Holder: a, Unreadable: true}, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "slot-0", Labels: map[string]string{v1alpha1.SlotLabel: "true"}}}
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
