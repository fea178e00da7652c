package rules

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Which certificates an upgrade of type Certificates renews, and when they are due.

// Renewable returns the node's certificates that kubeadm renews there. It is none where the node's
// UpgradeConfiguration says certificateRenewal: false, as an administrator keeps kubeadm from them.
func Renewable(f *v1alpha1.NodeFacts) (list []v1alpha1.CertificateFacts) {
	if f == nil || f.CertificateRenewalDisabled {
		return nil
	}
	for _, c := range f.Certificates {
		if c.RenewedBy == v1alpha1.RenewedByKubeadm {
			list = append(list, c)
		}
	}
	return list
}

// Renewal is when the renewal of a node's certificates is due, and for which of them.
type Renewal struct {
	Due         time.Time
	Certificate v1alpha1.CertificateFacts
	// End is when that certificate ends, also by its authority.
	End time.Time
}

// NextRenewal returns when the node's certificates are to be renewed: that long before the end of one, but
// no more than a third of its life, and no sooner than a tenth of its life after it was renewed. One that
// the program which uses it does not have is due at once. It reports false if kubeadm renews none, or
// each ends with its authority, so that a new one would end no later.
func NextRenewal(f *v1alpha1.NodeFacts, before time.Duration) (next Renewal, is bool) {
	for _, c := range Renewable(f) {
		if endsWithAuthority(f, c) && c.InUse != v1alpha1.UsesFormer {
			continue
		}
		due := c.NotAfter.Add(-before)
		if begin, known := certificateBegin(c); known {
			life := c.NotAfter.Sub(begin)
			due = latest(c.NotAfter.Add(-min(before, life/3)), begin.Add(life/10))
		}
		if c.InUse == v1alpha1.UsesFormer && c.WrittenTime != nil && c.WrittenTime.Time.Before(due) {
			due = c.WrittenTime.Time
		}
		if !is || due.Before(next.Due) {
			next, is = Renewal{Due: due, Certificate: c, End: CertificateEnd(f, c)}, true
		}
	}
	return next, is
}

// RenewedRecently reports whether each certificate that kubeadm renews on the node had lived for less than
// a tenth of its life at that time, and is used.
func RenewedRecently(f *v1alpha1.NodeFacts, at time.Time) bool {
	for _, c := range Renewable(f) {
		begin, known := certificateBegin(c)
		if !known || c.InUse == v1alpha1.UsesFormer || !at.Before(begin.Add(c.NotAfter.Sub(begin)/10)) {
			return false
		}
	}
	return true
}

// endsWithAuthority reports whether the certificate ends no sooner than its authority.
func endsWithAuthority(f *v1alpha1.NodeFacts, c v1alpha1.CertificateFacts) bool {
	authority := AuthorityOf(f, c)
	return authority != nil && !c.NotAfter.Time.Before(authority.NotAfter.Time)
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
