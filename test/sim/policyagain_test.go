package sim

import (
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// An UpgradePolicy that is deleted and created again, as by a tool that replaces objects, had in its status which
// versions were taken back.

// anyPolicyAgain has the policy be deleted in the middle of a node's turn, in half of the seeds with hooks. In half of
// those only nodes have hooks, so that there are moments between their turns in which it can be.
func anyPolicyAgain(s *script) {
	r := rand.New(rand.NewPCG(s.Seed, 22))
	if !s.Hooks || r.IntN(2) == 0 {
		return
	}
	s.NodeHooks = r.IntN(2) == 0
	for range 1 + r.IntN(2) {
		s.Faults = append(s.Faults, fault{
			At: early(r.Float64()*r.Float64(), s.Lasts), Kind: "delete policy", Number: r.IntN(12), For: time.Duration(2+r.IntN(60)) * time.Second,
			Step: []v1alpha1.Step{v1alpha1.StepLocking, v1alpha1.StepDraining, v1alpha1.StepVerifying, v1alpha1.StepUnlocking, v1alpha1.StepAborting}[r.IntN(5)],
		})
	}
}

// deletePolicy deletes the policy, as a tool of GitOps does that replaces it: while that is refused, it tries again.
func (w *world) deletePolicy(f fault) {
	if err := w.api.delete("admin", policyKey, metav1.DeleteOptions{}); w.livePolicy() != nil {
		w.note("the policy is not deleted: %v", err)
		w.after(time.Duration(500+w.noise(3000))*time.Millisecond, f.Kind, func() {
			if !w.repaired {
				w.deletePolicy(f)
			}
		})
		return
	}
	w.since["no policy"], w.policyDeleted = w.now(), true
	w.until(f, w.createPolicy)
}

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
