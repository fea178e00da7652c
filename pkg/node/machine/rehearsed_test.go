package machine

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// TestBootIsCompared checks that an attempt keeps what its boot's rehearsal had found, and what the boot did: once, so that
// a node that comes back late was down.
func TestBootIsCompared(t *testing.T) {
	passed := v1alpha1.RehearsalOutcome{Result: v1alpha1.RehearsalPassed}
	up := v1alpha1.RehearsalOutcome{Result: v1alpha1.RehearsalPassed, Boot: v1alpha1.BootUp}
	for name, test := range map[string]struct {
		before    v1alpha1.Step
		now       v1alpha1.Step
		reason    v1alpha1.Reason
		rehearsal *v1alpha1.RehearsalOutcome
		tried     *verb.GuardTried
		want      *v1alpha1.RehearsalOutcome
	}{
		"back":                       {v1alpha1.StepVerifying, v1alpha1.StepSettling, "", &passed, nil, &up},
		"not rehearsed":              {v1alpha1.StepVerifying, v1alpha1.StepSettling, "", nil, nil, nil},
		"still on its way":           {v1alpha1.StepRebooting, v1alpha1.StepVerifying, "", &passed, nil, &passed},
		"it settles":                 {v1alpha1.StepSettling, v1alpha1.StepSettling, "", &passed, nil, &passed},
		"back late":                  {v1alpha1.StepFailed, v1alpha1.StepSettling, "", &v1alpha1.RehearsalOutcome{Result: v1alpha1.RehearsalPassed, Boot: v1alpha1.BootDown}, nil, &v1alpha1.RehearsalOutcome{Result: v1alpha1.RehearsalPassed, Boot: v1alpha1.BootDown}},
		"with help":                  {v1alpha1.StepVerifying, v1alpha1.StepSettling, "", &passed, &verb.GuardTried{Upgrade: "u", Merge: true}, &v1alpha1.RehearsalOutcome{Result: v1alpha1.RehearsalPassed, Boot: v1alpha1.BootAssisted, Message: "one more merge"}},
		"the help of an upgrade ago": {v1alpha1.StepVerifying, v1alpha1.StepSettling, "", &passed, &verb.GuardTried{Upgrade: "t", Merge: true}, &up},
		"rolled back":                {v1alpha1.StepRebooting, v1alpha1.StepRolledBack, v1alpha1.ReasonRolledBack, &passed, nil, &v1alpha1.RehearsalOutcome{Result: v1alpha1.RehearsalPassed, Boot: v1alpha1.BootDown, Message: "why"}},
		"another version came":       {v1alpha1.StepVerifying, v1alpha1.StepFailed, v1alpha1.ReasonWrongVersion, &passed, nil, &v1alpha1.RehearsalOutcome{Result: v1alpha1.RehearsalPassed, Boot: v1alpha1.BootDown, Message: "why"}},
		"it never rebooted":          {v1alpha1.StepRebooting, v1alpha1.StepFailed, v1alpha1.ReasonRebootFailed, &passed, nil, &passed},
		"kubeadm failed":             {v1alpha1.StepKubeadm, v1alpha1.StepFailed, v1alpha1.ReasonKubeadmFailed, &passed, nil, &passed},
	} {
		s := State{Step: test.now, Reason: test.reason, Message: "why", Rehearsal: test.rehearsal}
		s.Upgrade.UID = "u"
		got := s.compareBoot(test.before, Observation{Host: &Host{HostFacts: verb.HostFacts{GuardTried: test.tried}}})
		if diff := cmp.Diff(test.want, got.Rehearsal); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if passed.Boot != "" {
		t.Error("what a former State has was changed")
	}
}

// TestAttemptKeepsItsRehearsal checks that a node that takes its slot keeps what the rehearsal of that boot had found.
func TestAttemptKeepsItsRehearsal(t *testing.T) {
	problem := v1alpha1.RehearsalProblem{Problem: v1alpha1.Problem{Reason: v1alpha1.KubeletRefuses, Message: "a flag"}, Cause: v1alpha1.CauseVersion}
	rehearsals := []v1alpha1.Rehearsal{{Version: newVersion, Problems: []v1alpha1.RehearsalProblem{problem}}, {Version: oldVersion, Untried: []string{"a part"}}}
	for name, test := range map[string]struct {
		upgrade v1alpha1.UpgradeType
		facts   []v1alpha1.Rehearsal
		want    *v1alpha1.RehearsalOutcome
	}{
		"a patch whose problem is ignored": {v1alpha1.TypePatch, rehearsals, &v1alpha1.RehearsalOutcome{Result: v1alpha1.RehearsalFailed}},
		"a reboot":                         {v1alpha1.TypeReboot, rehearsals, &v1alpha1.RehearsalOutcome{Result: v1alpha1.RehearsalIncomplete}},
		"never rehearsed":                  {v1alpha1.TypePatch, nil, nil},
	} {
		s, o := atLastCheck(time.Date(2026, 11, 30, 1, 0, 0, 0, time.UTC))
		o.Spec.Type, o.Spec.Version = test.upgrade, newVersion
		o.Host.Active, o.Host.Node.Rehearsals = oldVersion, test.facts
		got, _ := beginAttempt(s, o)
		if diff := cmp.Diff(test.want, got.Rehearsal); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
