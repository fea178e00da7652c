package manifest

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestVerify checks objects that verbs make.
func TestVerify(t *testing.T) {
	typeOf := func(kind string) metav1.TypeMeta {
		return metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: kind}
	}
	freeze := func(name, zone, reason string) runtime.Object {
		start := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
		return &v1alpha1.MaintenanceSchedule{TypeMeta: typeOf("MaintenanceSchedule"), ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.MaintenanceScheduleSpec{
			TimeZone:              zone,
			MaintenanceExclusions: []v1alpha1.MaintenanceExclusion{{Period: v1alpha1.Period{Name: "freeze", StartTime: start, EndTime: metav1.NewTime(start.Add(time.Hour))}, Comment: reason}},
		}}
	}
	upgrade := func(method v1alpha1.Method) runtime.Object {
		return &v1alpha1.ClusterUpgrade{TypeMeta: typeOf("ClusterUpgrade"), ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: v1alpha1.ClusterUpgradeSpec{Version: "v1.35.4", Strategy: v1alpha1.Strategy{Method: method}}}
	}
	for name, test := range map[string]struct {
		object runtime.Object
		want   string
	}{
		"a freeze":   {freeze("a", "", "x"), ""},
		"its name":   {freeze("A_B", "", "x"), `MaintenanceSchedule would be invalid: metadata.name: "A_B" must be of`},
		"its zone":   {freeze("a", "localtime", "x"), `MaintenanceSchedule would be invalid: spec.timeZone: "localtime" is another zone on every machine`},
		"its reason": {freeze("a", "UTC", strings.Repeat("x", 257)), "spec.maintenanceExclusions[0].comment: has 257 characters; at most 256 are allowed"},
		"an upgrade": {upgrade("Reboot"), ""},
		"its method": {upgrade("Reboots"), `ClusterUpgrade would be invalid: spec.strategy.method: "Reboots" must be`},
	} {
		err := Verify(test.object)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
}
