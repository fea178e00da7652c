package view_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

// `kubectl upgrade status` says what the API server refuses to the coordinator.
func TestStatusShowsWhatCannotBeWritten(t *testing.T) {
	const refused = "creating ClusterUpgrade v1.34.4: a webhook denied it"
	policy := v1alpha1.UpgradePolicy{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.PolicyName}}
	policy.Status.Conditions = []metav1.Condition{
		{Type: v1alpha1.ConditionValid, Status: metav1.ConditionTrue, Message: "every field is understood"},
		{Type: v1alpha1.ConditionSourceReady, Status: metav1.ConditionTrue},
		{Type: v1alpha1.ConditionWriteFailed, Status: metav1.ConditionTrue, Reason: string(v1alpha1.ReasonAPIWriteFailed), Message: refused},
		{Type: v1alpha1.ConditionNoticesFailed, Status: metav1.ConditionTrue, Reason: "SecretForbidden", Message: "notice chat: may not be read\nkind: Role"},
	}
	shown := view.NewStatus(clusterstate.Snapshot{Policy: &policy}, time.Now())
	if len(shown.Policy.Problems) != 2 || shown.Policy.Problems[0].Message != refused {
		t.Errorf("problems: %+v", shown.Policy.Problems)
	}
	screen := render.Screen(shown, render.Options{Width: 200})
	if !strings.Contains(screen, "APIWriteFailed: "+refused) || strings.Contains(screen, "understood") ||
		!strings.Contains(screen, "SecretForbidden: notice chat: may not be read") || strings.Contains(screen, "kind: Role") {
		t.Errorf("the screen:\n%s", screen)
	}
}

// `kubectl upgrade status` says until when the next automatic upgrade waits, and does not call that a
// problem.
func TestStatusShowsTheInterval(t *testing.T) {
	const waits = "the next automatic Patch may start 2026-11-29 12:00 UTC"
	policy := v1alpha1.UpgradePolicy{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.PolicyName}}
	policy.Spec.Automatic = []v1alpha1.AutomaticUpgrade{{Type: v1alpha1.TypePatch, MinIntervalSeconds: ptr.To[int32](7 * 24 * 3600)}}
	policy.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionAutomaticHeld, Status: metav1.ConditionTrue, Reason: string(v1alpha1.ReasonAutomaticInterval), Message: waits}}
	shown := view.NewStatus(clusterstate.Snapshot{Policy: &policy}, time.Now())
	if len(shown.Policy.Problems) > 0 || shown.Policy.AutomaticHeld == nil || shown.Policy.AutomaticHeld.Message != waits {
		t.Errorf("the policy: %+v", shown.Policy)
	}
	screen := render.Screen(shown, render.Options{Width: 200, Zone: time.UTC})
	if !strings.Contains(screen, "automatic Patch (7d after the last)") || !strings.Contains(screen, "AutomaticInterval: "+waits) {
		t.Errorf("the screen:\n%s", screen)
	}
}

// TestWhatHoldsAutomaticUpgradesIsAProblem checks that `kubectl upgrade status` calls a hold a problem only if it does not
// pass by itself: a patch that soaks in another cluster is none.
func TestWhatHoldsAutomaticUpgradesIsAProblem(t *testing.T) {
	for reason, problem := range map[v1alpha1.Reason]bool{v1alpha1.ReasonNotSoaked: false, v1alpha1.ReasonExternalGateUnknown: false, v1alpha1.ReasonSkew: true} {
		policy := v1alpha1.UpgradePolicy{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.PolicyName}}
		policy.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionAutomaticHeld, Status: metav1.ConditionTrue, Reason: string(reason), Message: "waits"}}
		shown := view.NewStatus(clusterstate.Snapshot{Policy: &policy}, time.Now())
		if got := len(shown.Policy.Problems) > 0; got != problem || (shown.Policy.AutomaticHeld != nil) == problem {
			t.Errorf("%s: %+v", reason, shown.Policy)
		}
	}
}

// `kubectl upgrade status` says that Cluster API decides on versions, and does not call it a problem that
// no patch is automatic there.
func TestStatusSaysWhoDecidesOnVersions(t *testing.T) {
	policy := v1alpha1.UpgradePolicy{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.PolicyName}}
	policy.Spec.VersionsFrom = v1alpha1.VersionsFromClusterAPI
	policy.Spec.Automatic = []v1alpha1.AutomaticUpgrade{{Type: v1alpha1.TypePatch}}
	policy.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionAutomaticHeld, Status: metav1.ConditionTrue, Reason: string(v1alpha1.ReasonNotRequested), Message: "no automatic patch is created"}}
	shown := view.NewStatus(clusterstate.Snapshot{Policy: &policy}, time.Now())
	screen := render.Screen(shown, render.Options{Width: 200, Zone: time.UTC})
	if len(shown.Policy.Problems) > 0 || !strings.Contains(screen, "Cluster API decides on versions; automatic Patch") || !strings.Contains(screen, "NotRequested: no automatic patch is created") {
		t.Errorf("the policy: %+v; the screen:\n%s", shown.Policy, screen)
	}
}

// `kubectl upgrade status` says that a hook after the last upgrade failed, which would hold the next one.
func TestStatusShowsAFailedHook(t *testing.T) {
	policy := v1alpha1.UpgradePolicy{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.PolicyName}}
	policy.Spec.Hooks = []v1alpha1.Hook{{Name: "report", When: v1alpha1.AfterUpgrade, CronJobName: "report"}}
	run := v1alpha1.HookRun{Name: "report", When: v1alpha1.AfterUpgrade, State: v1alpha1.HookFailed, Reason: "DeadlineExceeded", Job: "report-1", JobUID: "uid"}
	policy.Status.HookTurns = []v1alpha1.HookTurn{{Upgrade: v1alpha1.UpgradeReference{Name: "v1.34.5"}, Version: "v1.34.5", Outcome: v1alpha1.TurnSucceeded, Hooks: []v1alpha1.HookRun{run}}}
	shown := view.NewStatus(clusterstate.Snapshot{Policy: &policy}, time.Now())
	screen := render.Screen(shown, render.Options{Width: 300})
	if !strings.Contains(screen, "HookFailed: hook report (AfterUpgrade of upgrade v1.34.5) failed (DeadlineExceeded)") || !strings.Contains(screen, "kubectl upgrade apply v1.34.5 --retry") {
		t.Errorf("the screen:\n%s", screen)
	}
}
