package clusterstate_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

func TestUnschedulable(t *testing.T) {
	const cordon, exists = corev1.TaintNodeUnschedulable, corev1.TolerationOpExists
	for _, test := range []struct {
		name string
		has  corev1.Toleration
		want bool
	}{
		{"everything", corev1.Toleration{Operator: exists}, true},
		{"everything that keeps new pods away", corev1.Toleration{Operator: exists, Effect: corev1.TaintEffectNoSchedule}, true},
		{"everything that ends pods", corev1.Toleration{Operator: exists, Effect: corev1.TaintEffectNoExecute}, false},
		{"the cordon", corev1.Toleration{Key: cordon, Operator: exists, Effect: corev1.TaintEffectNoSchedule}, true},
		{"the cordon, as the taint without a value", corev1.Toleration{Key: cordon, Operator: corev1.TolerationOpEqual}, true},
		{"the cordon, as a taint with a value", corev1.Toleration{Key: cordon, Operator: corev1.TolerationOpEqual, Value: "x"}, false},
		{"something else", corev1.Toleration{Key: "dedicated", Operator: exists}, false},
	} {
		other := corev1.Toleration{Key: "other", Operator: exists}
		if got := clusterstate.ToleratesUnschedulable([]corev1.Toleration{other, test.has}); got != test.want {
			t.Errorf("%s: got %v", test.name, got)
		}
	}
	if clusterstate.ToleratesUnschedulable(nil) {
		t.Error("no toleration tolerates")
	}
}
