package scenario

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

var zero = time.Date(2026, 11, 21, 1, 0, 0, 0, time.UTC)

func after(seconds int) time.Time { return zero.Add(time.Duration(seconds) * time.Second) }

func step(name v1alpha1.Step, from, to int) v1alpha1.StepTime {
	return v1alpha1.StepTime{Step: name, StartTime: metav1.NewMicroTime(after(from)), EndTime: &metav1.MicroTime{Time: after(to)}}
}

func TestSharesCountEveryInstantOnce(t *testing.T) {
	var one, two v1alpha1.NodeRecord
	one.Steps = []v1alpha1.StepTime{
		step(v1alpha1.StepStaging, 0, 10), step(v1alpha1.StepLocking, 12, 13), step(v1alpha1.StepKubeadm, 13, 43),
		step(v1alpha1.StepDraining, 50, 60), step(v1alpha1.StepSettling, 60, 65),
	}
	two.Steps = []v1alpha1.StepTime{step(v1alpha1.StepKubeadm, 40, 45), step(v1alpha1.StepSettling, 90, 200)}
	got := map[string]time.Duration{}
	for _, s := range Shares([]v1alpha1.NodeRecord{one, two}, zero, after(100)) {
		if s.Took > 0 {
			got[s.Name] = s.Took / time.Second
		}
	}
	want := map[string]time.Duration{
		"staging": 10, "kubeadm": 32, "drain": 10, "settle": 15,
		Overhead: 33, // 10 to 13, 45 to 50, and 65 to 90
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
