package sim

import (
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// livePolicy returns the UpgradePolicy, or nil.
func (w *world) livePolicy() *v1alpha1.UpgradePolicy {
	return get[*v1alpha1.UpgradePolicy](w.api, policyKey)
}

// checkPolicy checks that an agent neither begins anything nor gives anything back if the
// UpgradePolicy was deleted before its reconcile began.
func (w *world) checkPolicy(a *agentProgram, what string) {
	if since := w.since["no policy"]; w.livePolicy() == nil && since.Before(a.ranAt) {
		w.broken("policy", "%s %s, and the UpgradePolicy was deleted %s ago", a.node.name, what, w.now().Sub(since))
	}
}

// checkPolicyOf checks that a coordinator which knows that there is no UpgradePolicy releases
// no node.
func (w *world) checkPolicyOf(by, name string) {
	p := w.program(by)
	if p == nil {
		return
	}
	for _, v := range p.views {
		if v.resource == policyKey.Resource && v.told(policyKey.Name) == nil && w.livePolicy() == nil {
			w.broken("policy", "%s releases %s, and there is no UpgradePolicy", by, name)
		}
	}
}

// checkKeyring checks that a node begins with an image only if that was staged with the keyring
// which the UpgradePolicy had when the agent's reconcile began.
func (w *world) checkKeyring(a *agentProgram, what string) {
	nu, policy := w.nodeUpgrade(a.node.name), w.livePolicy()
	if nu == nil || policy == nil || nu.Spec.Version == "" || policy.Spec.Source.Keyring == "" || w.since["keyring"].After(a.ranAt) || w.specChangedAt[nu.Name].After(a.ranAt) {
		return
	}
	if staged := a.node.keyrings[nu.Spec.Version]; staged != policy.Spec.Source.Keyring {
		w.broken("keyring", "%s %s with an image that was staged with keyring %q, and the UpgradePolicy has %q", a.node.name, what, staged, policy.Spec.Source.Keyring)
	}
}
