package sim

import (
	"slices"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// An UpgradePolicy that is deleted and created again, as by a tool that replaces objects, had in its status which
// versions were taken back.

// notePolicy notes which versions coordinators say were taken back. That a policy is deleted changes nothing.
func (w *world) notePolicy(by string, before, after *stored) {
	if !strings.Contains(by, "coordinator") || after == nil {
		return
	}
	list := func(s *stored) []v1alpha1.TakenBackVersion {
		return s.object(policyKey.Resource).(*v1alpha1.UpgradePolicy).Status.TakenBack
	}
	if before != nil {
		for _, was := range list(before) {
			if !slices.ContainsFunc(list(after), func(is v1alpha1.TakenBackVersion) bool { return is.Version == was.Version }) {
				delete(w.takenBack, was.Version)
			}
		}
	}
	for _, is := range list(after) {
		w.takenBack[is.Version] = is.Time.Time
	}
}

// checkTakenBefore checks that no node begins an upgrade, which is older, to a version that was taken back before
// the policy was created again.
func (w *world) checkTakenBefore(a *agentProgram, u *v1alpha1.ClusterUpgrade) {
	taken, was := w.takenBack[u.Spec.Version]
	if was && u.CreationTimestamp.Time.Before(taken) && w.decidedSince(taken.Add(time.Second), a) && w.decidedSince(w.since["policy"].Add(grace), a) {
		w.broken("taken back", "%s takes a slot for upgrade %s, and %s was taken back before the policy was created again", a.node.name, u.Name, u.Spec.Version)
	}
}

// checkCreatedBefore checks that coordinators create no upgrade to such a version.
func (w *world) checkCreatedBefore(u *v1alpha1.ClusterUpgrade) {
	taken, was := w.takenBack[u.Spec.Version]
	if was && u.Spec.Type != v1alpha1.TypeRollback && w.now().Sub(taken) > grace && w.now().Sub(w.since["policy"]) > grace {
		w.broken("taken back", "a coordinator creates %s, and %s was taken back", u.Name, u.Spec.Version)
	}
}
