package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

var policyKey = key{Resource: "upgradepolicies", Name: v1alpha1.PolicyName}

// anyPolicyFaults returns edits of the UpgradePolicy, in one seed of four, and that it is
// deleted for a while.
func anyPolicyFaults(s script) (list []fault) {
	r := rand.New(rand.NewPCG(s.Seed, 8))
	if r.IntN(4) > 0 {
		return nil
	}
	for range 1 + r.IntN(3) {
		f := fault{
			At: early(r.Float64(), s.Lasts), Kind: []string{"edit strategy", "edit source", "edit source", "delete policy", "delete policy"}[r.IntN(5)],
			Number: r.IntN(12), For: time.Duration(5+r.IntN(180)) * time.Second,
		}
		if r.IntN(2) == 0 {
			f.Step = triggers[r.IntN(len(triggers))]
		}
		list = append(list, f)
	}
	return list
}

// newPolicy returns the spec of the UpgradePolicy.
func (w *world) newPolicy() tree {
	spec := tree{"mode": "Manage", "nodeSelector": managed, "historyLimit": 20.0, "source": tree{"url": "https://images.example/", "intervalSeconds": 600.0}}
	if w.script.Gates {
		spec["gates"] = newGates()
	}
	if w.script.ClusterAPIDecides {
		spec["versionsFrom"] = string(v1alpha1.VersionsFromClusterAPI)
	}
	w.addLeaderGate(spec)
	if w.script.Hooks {
		spec["hooks"] = w.script.newHooks()
	}
	if w.script.Automatic {
		patch, reboot := tree{"type": "Patch", "minAgeSeconds": 60.0}, tree{"type": "Reboot"}
		if w.script.Seed%2 == 0 {
			patch["noticeSeconds"], reboot["noticeSeconds"] = 40.0, 20.0
		}
		spec["automatic"] = []any{patch, reboot}
		spec["strategy"] = w.strategy("")
	}
	if before := w.script.Certificates.Renews; before > 0 {
		automatic, _ := spec["automatic"].([]any)
		spec["automatic"] = append(automatic, tree{"type": string(v1alpha1.TypeCertificates), "remainingSeconds": before.Seconds()})
	}
	return spec
}

// managed selects the nodes that are managed.
var managed = tree{"matchExpressions": []any{tree{"key": "unmanaged", "operator": "DoesNotExist"}}}

// createPolicy creates the UpgradePolicy with the spec that it had last. The coordinator may have
// created an empty one, where no node was managed yet.
func (w *world) createPolicy() {
	w.since["policy"], w.policyDeleted = w.now(), false
	spec := clone(w.policy)
	if w.api.objects[policyKey] == nil {
		w.api.put("admin", policyKey, tree{"apiVersion": v1alpha1.GroupVersion.String(), "kind": "UpgradePolicy", "spec": spec})
		return
	}
	w.edit(policyKey, func(t tree) { t["spec"] = spec })
}

// editPolicy edits the UpgradePolicy. If it is deleted, it is created with that later: the one that
// the coordinator creates meanwhile stays as it is.
func (w *world) editPolicy(change func(spec tree)) {
	change(w.policy)
	if w.policyDeleted {
		return
	}
	w.edit(policyKey, func(t tree) { change(child(t, "spec")) })
}

// injectPolicy edits or deletes the UpgradePolicy.
func (w *world) injectPolicy(f fault) {
	switch f.Kind {
	case "edit strategy":
		w.policyBudgets = append(w.policyBudgets, budget{w.now(), 1 + f.Number%3})
		w.editPolicy(func(spec tree) {
			strategy := child(spec, "strategy")
			strategy["maxUnavailable"], strategy["settleSeconds"] = float64(1+f.Number%3), float64(f.Number%4*5)
			strategy["drain"] = tree{"timeoutSeconds": float64(30 + f.Number%2*60)}
		})
	case "edit source":
		w.since["keyring"] = w.now()
		w.editPolicy(func(spec tree) {
			source := child(spec, "source")
			source["intervalSeconds"] = float64(300 + f.Number)
			if delete(source, "keyring"); f.Number%3 > 0 {
				source["keyring"] = fmt.Sprintf("keyring %d", f.Number%3)
			}
		})
	case "delete policy":
		w.deletePolicy(f)
	}
}
