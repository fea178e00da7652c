package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
)

// Which control planes an upgrade of type Certificates changes. It goes through pass 1 alone: one
// control plane after another has kubeadm renew what it has issued, while it serves.

// mayRenew reports whether the upgrade, if its type is Certificates, may renew something on the node.
func (t *target) mayRenew(n *node) bool {
	if t == nil || !t.certificates {
		return true
	}
	return n.ControlPlane && (n.facts == nil || len(rules.Renewable(n.facts)) > 0)
}

// endsSoon reports whether half of the time is over from when the renewal of the node's certificates was due to their end. Nothing
// that may take longer goes first then.
func (t *target) endsSoon(n *node, now time.Time) bool {
	next, is := rules.NextRenewal(n.facts, rules.Soon)
	return t.certificates && is && now.After(next.Due.Add(next.End.Sub(next.Due)/2))
}

// whyLeftOut returns why the upgrade renews nothing on the node.
func (t *target) whyLeftOut(n *node) string {
	switch {
	case !n.ControlPlane:
		return "it has no certificates of kubeadm's, as it is no control plane"
	case n.facts.CertificateRenewalDisabled:
		return "its certificates are left alone, as kubeadm-upgrade.yaml on it says certificateRenewal: false"
	}
	return "kubeadm renews no certificate on it: the keys of their authorities are elsewhere"
}

// renewalDue reports whether the upgrade has to renew the node's certificates, or waits to learn whether it
// has to. An automatic one passes over nodes that report nothing, because otherwise later upgrades would
// wait until a person acts, and over those that have new certificates already.
func (t *target) renewalDue(n *node) bool {
	switch byItself := t.isByCoordinator(); {
	case !t.mayRenew(n) || t.hasRenewed(n):
		return false
	case n.facts == nil:
		return !byItself
	}
	return !t.isByCoordinator() || !rules.RenewedRecently(n.facts, t.CreationTimestamp.Time)
}

// hasRenewed reports whether the upgrade has renewed the node's certificates.
func (t *target) hasRenewed(n *node) bool {
	renewed := n.status.CertificatesRenewed
	return t.certificates && renewed != nil && t.isFor(&renewed.Upgrade)
}

// renewed returns the status of a node whose certificates the upgrade has renewed.
func (t *target) renewed(status *v1alpha1.NodeUpgradeStatus) *v1alpha1.NodeUpgradeStatus {
	out := *status
	out.CertificatesRenewed = &v1alpha1.CertificatesRenewed{Upgrade: t.Reference()}
	return &out
}

// whyNotRenewed returns why nothing is left to do for the node.
func (t *target) whyNotRenewed(n *node) string {
	switch {
	case t.hasRenewed(n):
		return "has new certificates"
	case n.facts == nil:
		return "has reported no certificates"
	}
	return "has certificates that were renewed shortly before"
}

// certificateEndsFirst holds a node in service for a renewal of certificates that no window lets begin before one of
// them ends. A person has to act: an upgrade may ignore windows.
func certificateEndsFirst(c *cluster, n *node) clusterstate.Hold {
	if !c.target.certificates {
		return clusterstate.Hold{}
	}
	hold := windowClosed(c, n)
	next, is := rules.NextRenewal(n.facts, rules.Soon)
	if !is || !hold.Holds() || hold.Until != nil && hold.Until.Before(next.End) {
		return clusterstate.Hold{}
	}
	message := fmt.Sprintf("%s on %s ends %s, and it cannot be renewed before: %s", rules.CertificateKind(next.Certificate), n.Name, clusterstate.FormatTime(next.End), hold.Message)
	switch hold.Reason {
	case v1alpha1.ReasonWindowClosed:
		message += fmt.Sprintf("; `kubectl patch clusterupgrade %s --type merge -p '{\"spec\":{\"windowPolicy\":\"Ignore\"}}'` lets it begin now", c.target.Name)
	case v1alpha1.ReasonExcluded:
		message += "; `kubectl upgrade unfreeze` ends a freeze"
	}
	return clusterstate.Hold{Reason: v1alpha1.ReasonCertificateEndsFirst, Message: message, Until: hold.Until}
}

// hooksAroundAnother holds a control plane while hooks around another one have not ended: they may have taken that out of
// a load balancer.
func (a *allocation) hooksAroundAnother(n *node) clusterstate.Hold {
	for _, t := range a.turns.list {
		if other := a.cluster.nodeOf(t); t.Node != "" && isOpen(t) && other != nil && other != n && other.ControlPlane {
			return clusterstate.Hold{Reason: v1alpha1.ReasonNotItsTurn, Message: fmt.Sprintf("the hooks around node %s end first", other.Name)}
		}
	}
	return clusterstate.Hold{}
}

// automaticPrefix begins the names of automatic upgrades of a type that have no version.
var automaticPrefix = map[v1alpha1.UpgradeType]string{v1alpha1.TypeReboot: "reboot-", v1alpha1.TypeCertificates: "certificates-ending-"}

// automaticCertificates returns what `automatic: [{type: Certificates}]` asks for, once the renewal of a
// control plane's certificates is due, whatever its windows say: it is seen while it waits for one. It is
// named after the end of the one that is due first, so that two coordinators create the same one, and one
// that has failed, or that a person has deleted, is not created again.
func (c *cluster) automaticCertificates(q queue, wake *wakeTime) (create *v1alpha1.ClusterUpgrade, hold clusterstate.Hold) {
	wanted := c.reading.automaticSpec(v1alpha1.TypeCertificates)
	if wanted == nil || slices.ContainsFunc(q.targets, func(t *target) bool { return t.certificates }) {
		return nil, clusterstate.Hold{}
	}
	before := cmp.Or(clusterstate.Seconds(wanted.RemainingSeconds), rules.Soon)
	notice := clusterstate.Seconds(wanted.NoticeSeconds)
	var first rules.Renewal
	for _, n := range c.nodes {
		next, is := rules.NextRenewal(n.facts, before)
		if !n.labelled || !n.eligible() || !is {
			continue
		}
		if next.Due = next.Due.Add(-notice); first.Due.IsZero() || next.Due.Before(first.Due) {
			first = next
		}
	}
	switch {
	case first.Due.IsZero():
		return nil, clusterstate.Hold{}
	case first.Due.After(c.now):
		wake.at(&first.Due)
		return nil, clusterstate.Hold{}
	}
	name := c.reading.unusedName(automaticPrefix[v1alpha1.TypeCertificates] + first.End.UTC().Format("20060102-1504"))
	if name == "" {
		return nil, clusterstate.Hold{}
	}
	return c.unlessTooSoon(newAutomatic(name, v1alpha1.TypeCertificates), wanted, wake)
}

// maxSameEnd is how many automatic renewals there may be for one end.
const maxSameEnd = 9

// unusedName returns the name of the next upgrade: name, or with a number if that has succeeded, as for control planes that
// were not managed meanwhile. It is empty if the last one has not succeeded.
func (r *reading) unusedName(name string) string {
	for next, i := name, 2; i <= maxSameEnd+1; i++ {
		switch {
		case !r.isNamed(next):
			return next
		case !r.hasSucceeded(next):
			return ""
		}
		next = fmt.Sprintf("%s-%d", name, i)
	}
	return ""
}

// hasSucceeded reports whether the last upgrade of that name has succeeded.
func (r *reading) hasSucceeded(name string) bool {
	if u := upgradeNamed(r.snapshot.Upgrades, name); u != nil {
		return u.Status.Outcome == v1alpha1.OutcomeSucceeded
	}
	return !slices.ContainsFunc(r.snapshot.Records, func(record v1alpha1.UpgradeRecord) bool {
		return record.Spec.Upgrade.Name == name && record.Spec.Outcome != v1alpha1.OutcomeSucceeded
	})
}
