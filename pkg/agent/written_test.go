package agent

import (
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// A status that another writer has put back is written again, once the watch has
// had time to show our own.
func TestOverwritten(t *testing.T) {
	at := time.Date(2026, 11, 22, 3, 55, 0, 0, time.UTC)
	w := written{at: at}
	w.status.Step = v1alpha1.StepIdle
	for _, row := range []struct {
		shown v1alpha1.Step
		after time.Duration
		want  bool
	}{
		{v1alpha1.StepIdle, time.Hour, false},
		{v1alpha1.StepUnlocking, time.Second, false},
		{v1alpha1.StepUnlocking, overwriteAfter, true},
	} {
		nu := &v1alpha1.NodeUpgrade{}
		nu.Status.Step = row.shown
		if got := w.overwritten(nu, at.Add(row.after)); got != row.want {
			t.Errorf("%s %s after: %v, want %v", row.shown, row.after, got, row.want)
		}
	}
}

// A status of before, as a restore of etcd brings it back, is written again: the
// coordinator would have kubeadm run where it is done.
func TestOverwrittenByARestore(t *testing.T) {
	at := time.Date(2026, 11, 22, 3, 55, 0, 0, time.UTC)
	now := v1alpha1.NodeUpgradeStatus{Step: v1alpha1.StepWaiting, Slot: "slot-0", Versions: v1alpha1.NodeVersions{Kubeadm: "v1.34.4"}}
	w := written{at: at, status: now}
	for name, change := range map[string]func(*v1alpha1.NodeUpgradeStatus){
		"kubeadm":  func(s *v1alpha1.NodeUpgradeStatus) { s.Versions.Kubeadm = "v1.34.3" },
		"slot":     func(s *v1alpha1.NodeUpgradeStatus) { s.Slot = "" },
		"upgrade":  func(s *v1alpha1.NodeUpgradeStatus) { s.Upgrade = &v1alpha1.UpgradeReference{Name: "a", UID: "b"} },
		"attempts": func(s *v1alpha1.NodeUpgradeStatus) { s.Retry.Attempts = 1 },
	} {
		nu := &v1alpha1.NodeUpgrade{Status: *now.DeepCopy()}
		if w.overwritten(nu, at.Add(time.Hour)) {
			t.Error("what was written stands, and is written again")
		}
		if change(&nu.Status); !w.overwritten(nu, at.Add(overwriteAfter)) {
			t.Errorf("%s: not written again", name)
		}
	}
}
