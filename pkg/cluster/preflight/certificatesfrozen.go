package preflight

import (
	"cmp"
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
		planes = append(planes, ControlPlane{n.name, n.Labels, n.facts})
	}
	told := map[string]bool{"": c.renews && c.Upgrade.Spec.IgnoresWindows()}
	for _, held := range Frozen(planes, c.Schedules, c.Policy.Automatic, c.Now) {
		if !told[held.by.Window] { // of each exclusion, and of having no window, the first certificate that expires
			told[held.by.Window] = true
			c.add(held.finding())
		}
	}
}

// ControlPlane is a control plane with what its agent has reported, if it has.
type ControlPlane struct {
	Name   string
	Labels map[string]string
	Facts  *v1alpha1.NodeFacts
}

// FrozenCertificate is a certificate that kubeadm renews, and that no upgrade may have it renew before it expires.
type FrozenCertificate struct {
	rules.Renewal
	Node string

	by    schedule.Verdict // of the schedules when it expires
	holds bool             // now, too
	ended bool             // it has expired
}

// Frozen returns a certificate of each of the control planes on which no upgrade of type Certificates may begin from when
// its first certificate is due until that expires; what expires first comes first. An exclusion is told at once. That no
// window opens is told from twice that time before the end on: who opens windows by hand has not done so yet.
func Frozen(planes []ControlPlane, schedules []v1alpha1.MaintenanceSchedule, automatic []v1alpha1.AutomaticUpgrade, now time.Time) []FrozenCertificate {
	var all []FrozenCertificate
	for _, p := range planes {
		next, is := rules.NextRenewal(p.Facts, remaining(automatic))
		if !is || next.End.Sub(now) > schedule.Horizon {
			continue
		}
		early, ended, end := next.End.Sub(next.Due), !next.End.After(now), latest(next.End, now)
		next.Due = latest(next.Due, now)
		opens, err := schedule.NewMoment(schedules, next.Due).Between(p.Labels, v1alpha1.TypeCertificates, end)
		if err != nil || len(opens.Openings) > 0 {
			continue // that a schedule is invalid is told elsewhere
		}
		by := schedule.NewMoment(schedules, end).At(p.Labels, v1alpha1.TypeCertificates)
		if by.Reason != v1alpha1.ReasonExcluded {
			by = schedule.Verdict{}
		}
		if by.Reason != "" || !ended && next.End.Sub(now) <= 2*early {
			holds := schedule.NewMoment(schedules, now).At(p.Labels, v1alpha1.TypeCertificates).Reason == v1alpha1.ReasonExcluded
			all = append(all, FrozenCertificate{next, p.Name, by, holds, ended})
		}
	}
	slices.SortStableFunc(all, func(a, b FrozenCertificate) int { return a.End.Compare(b.End) })
	return all
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// remaining returns how long before its end a certificate is renewed.
func remaining(automatic []v1alpha1.AutomaticUpgrade) time.Duration {
	for _, one := range automatic {
		if one.Type == v1alpha1.TypeCertificates {
			return cmp.Or(clusterstate.Seconds(one.RemainingSeconds), rules.Soon)
		}
	}
	return rules.Soon
}

func (held FrozenCertificate) finding() v1alpha1.Finding {
	certificate, end := fmt.Sprintf("certificate %s of %s", held.Certificate.Path, held.Node), clusterstate.FormatTime(held.End)
	if held.by.Reason == "" {
		return v1alpha1.Finding{
			ID:      "certificates-frozen",
			Message: fmt.Sprintf("%s is due from %s on and expires at %s, and no maintenance window opens in between.", capital(certificate), clusterstate.FormatTime(held.Due), end),
			Advice:  "Renew it without a window: " + Renew(held.Node) + " --ignore-windows",
		}
	}
	until := "without an end"
	if held.by.Until != nil {
		until = "until " + clusterstate.FormatTime(*held.by.Until)
	}
	name, _, _ := strings.Cut(held.by.Window, "/")
	advice := fmt.Sprintf("End it: kubectl upgrade unfreeze %[1]s; if the schedule has windows: kubectl edit maintenanceschedule %[1]s. "+
		"A new freeze lets certificates be renewed.", name)
	if !held.holds {
		advice += " Or renew them before it begins: " + Renew(held.Node)
	}
	expires := "expires before that, at"
	if held.ended {
		expires = "expired at"
	}
	return v1alpha1.Finding{
		ID:      "certificates-frozen",
		Message: fmt.Sprintf("Exclusion %s stops the renewal of certificates %s, and %s %s %s.", held.by.Window, until, certificate, expires, end),
		Advice:  advice,
	}
}
