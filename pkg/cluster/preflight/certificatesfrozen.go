package preflight

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

// checkFrozen finds control planes whose certificates no upgrade may renew before the first of them expires: an exclusion
// holds, or no window opens.
func (c *checker) checkFrozen() {
	var planes []ControlPlane
	for _, n := range c.controlPlanes() {
		if n.facts != nil {
			planes = append(planes, ControlPlane{n.name, n.Labels, n.facts.Certificates})
		}
	}
	told := map[string]bool{"": c.renews && c.Upgrade.Spec.IgnoresWindows()}
	for _, held := range Frozen(planes, c.Schedules, c.Now) {
		if !told[held.by.Window] { // of each exclusion, and of having no window, the first certificate that expires
			told[held.by.Window] = true
			c.add(held.finding())
		}
	}
}

// ControlPlane is a control plane with its certificates.
type ControlPlane struct {
	Name         string
	Labels       map[string]string
	Certificates []v1alpha1.CertificateFacts
}

// FrozenCertificate is a certificate that kubeadm renews, and that no upgrade may have it renew before it expires.
type FrozenCertificate struct {
	Node        string
	Certificate *v1alpha1.CertificateFacts // the first of the node's that expires

	by    schedule.Verdict // of the schedules when it expires
	holds bool             // now, too
	due   time.Time        // from when on it is renewed
}

// Frozen returns a certificate of each of the control planes on which no upgrade of type Certificates may begin in the time
// in which its first certificate should be renewed, what expires first comes first. An exclusion is told at once. That no
// window opens is told from twice that time before the end on: who opens windows by hand has not done so yet.
func Frozen(planes []ControlPlane, schedules []v1alpha1.MaintenanceSchedule, now time.Time) []FrozenCertificate {
	var all []FrozenCertificate
	for _, p := range planes {
		first := firstToRenew(p.Certificates, now)
		if first == nil || first.NotAfter.Sub(now) > schedule.Horizon {
			continue
		}
		soon := rules.CertificateSoon(*first)
		due := first.NotAfter.Add(-soon)
		if due.Before(now) {
			due = now
		}
		opens, err := schedule.NewMoment(schedules, due).Between(p.Labels, v1alpha1.TypeCertificates, first.NotAfter.Time)
		if err != nil || len(opens.Openings) > 0 {
			continue // that a schedule is invalid is told elsewhere
		}
		by := schedule.NewMoment(schedules, first.NotAfter.Time).At(p.Labels, v1alpha1.TypeCertificates)
		if by.Reason != v1alpha1.ReasonExcluded {
			by = schedule.Verdict{}
		}
		if by.Reason != "" || first.NotAfter.Sub(now) <= 2*soon {
			holds := schedule.NewMoment(schedules, now).At(p.Labels, v1alpha1.TypeCertificates).Reason == v1alpha1.ReasonExcluded
			all = append(all, FrozenCertificate{p.Name, first, by, holds, due})
		}
	}
	slices.SortStableFunc(all, func(a, b FrozenCertificate) int { return a.Certificate.NotAfter.Compare(b.Certificate.NotAfter.Time) })
	return all
}

// firstToRenew returns the certificate that expires next among those that kubeadm renews. Nil: there is none.
func firstToRenew(certificates []v1alpha1.CertificateFacts, now time.Time) (first *v1alpha1.CertificateFacts) {
	for i := range certificates {
		cert := &certificates[i]
		if cert.RenewedBy == v1alpha1.RenewedByKubeadm && cert.NotAfter.After(now) && (first == nil || cert.NotAfter.Time.Before(first.NotAfter.Time)) {
			first = cert
		}
	}
	return first
}

func (held FrozenCertificate) finding() v1alpha1.Finding {
	certificate, end := fmt.Sprintf("certificate %s of %s", held.Certificate.Path, held.Node), clusterstate.FormatTime(held.Certificate.NotAfter.Time)
	if held.by.Reason == "" {
		return v1alpha1.Finding{
			ID:      "certificates-frozen",
			Message: fmt.Sprintf("%s is due from %s on and expires at %s, and no maintenance window opens in between.", capital(certificate), clusterstate.FormatTime(held.due), end),
			Advice:  "Renew it without a window: " + Renew(held.Node) + " --ignore-windows",
		}
	}
	until := "without an end"
	if held.by.Until != nil {
		until = "until " + clusterstate.FormatTime(*held.by.Until)
	}
	name, _, _ := strings.Cut(held.by.Window, "/")
	advice := fmt.Sprintf("End it: kubectl upgrade unfreeze %s; if the schedule has windows: kubectl edit maintenanceschedule %s. A new freeze lets certificates be renewed.", name, name)
	if !held.holds {
		advice += " Or renew them before it begins: " + Renew(held.Node)
	}
	return v1alpha1.Finding{
		ID:      "certificates-frozen",
		Message: fmt.Sprintf("Exclusion %s stops the renewal of certificates %s, and %s expires before that, at %s.", held.by.Window, until, certificate, end),
		Advice:  advice,
	}
}
