package preflight

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

// renews is the type of the upgrades that would renew certificates before they expire.
const renews = v1alpha1.TypePatch

// checkFrozen finds exclusions that last until after the first certificate of a control plane expires, so that no upgrade
// renews it.
func (c *checker) checkFrozen() {
	moment := schedule.NewMoment(c.Schedules, c.Now)
	for _, held := range heldPastEnds(c.controlPlanes(), c.Schedules, moment, c.Now) {
		until := "without an end"
		if held.by.Until != nil {
			until = "until " + clusterstate.FormatTime(*held.by.Until)
		}
		c.add(v1alpha1.Finding{
			ID: "certificates-frozen",
			Message: fmt.Sprintf("Exclusion %s holds %s, and certificate %s of %s expires before that, on %s.",
				held.by.Window, until, held.certificate, held.node, day(held.ends)),
			Advice: "Renew the certificates of each control plane before, " + RenewByHand(held.node) + ". Or end the exclusion: kubectl upgrade unfreeze.",
		})
	}
}

// heldPast is an exclusion that holds when a certificate expires.
type heldPast struct {
	by                schedule.Verdict
	node, certificate string
	ends              time.Time
}

// heldPastEnds returns each exclusion that holds when the first certificate of a node expires, if no window opens before,
// with the node whose certificate expires first.
func heldPastEnds(nodes []*node, schedules []v1alpha1.MaintenanceSchedule, moment *schedule.Moment, now time.Time) (all []heldPast) {
	for _, n := range nodes {
		first := firstToRenew(n, now)
		if first == nil || first.NotAfter.Sub(now) > schedule.Horizon {
			continue
		}
		opens, err := moment.Between(n.Labels, renews, first.NotAfter.Time)
		if err != nil || len(opens.Openings) > 0 {
			continue // that a schedule is invalid is told elsewhere
		}
		by := schedule.NewMoment(schedules, first.NotAfter.Time).At(n.Labels, renews)
		if by.Reason != v1alpha1.ReasonExcluded {
			continue
		}
		found := heldPast{by, n.name, first.Path, first.NotAfter.Time}
		i := slices.IndexFunc(all, func(other heldPast) bool { return other.by.Window == by.Window })
		switch {
		case i < 0:
			all = append(all, found)
		case found.ends.Before(all[i].ends):
			all[i] = found
		}
	}
	return all
}

// firstToRenew returns the certificate of a node that expires next among those that kubeadm renews. Nil: there is none.
func firstToRenew(n *node, now time.Time) (first *v1alpha1.CertificateFacts) {
	if n.facts == nil {
		return nil
	}
	for i := range n.facts.Certificates {
		cert := &n.facts.Certificates[i]
		if cert.RenewedBy == v1alpha1.RenewedByKubeadm && cert.NotAfter.After(now) && (first == nil || cert.NotAfter.Time.Before(first.NotAfter.Time)) {
			first = cert
		}
	}
	return first
}
