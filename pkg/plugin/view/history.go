package view

import (
	"cmp"
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
)

// Ended returns the upgrades that have ended, the oldest first: what their records
// say, and what their ClusterUpgrades say where those still exist.
func Ended(upgrades []v1alpha1.ClusterUpgrade, records []v1alpha1.UpgradeRecord) []render.Ended {
	byUID := map[string]*render.Ended{}
	slices.SortFunc(records, func(a, b v1alpha1.UpgradeRecord) int { return cmp.Compare(a.Piece, b.Piece) })
	for _, r := range records {
		if byUID[r.Upgrade.UID] == nil {
			byUID[r.Upgrade.UID] = endedFromRecord(&r)
		}
		e := byUID[r.Upgrade.UID]
		e.Record = append(e.Record, r.Nodes...)
	}
	for i := range upgrades {
		u := &upgrades[i]
		e := byUID[string(u.UID)]
		switch {
		case e == nil && u.Status.Outcome == "":
			continue
		case e == nil:
			e = endedFromUpgrade(u)
			byUID[string(u.UID)] = e
		}
		e.Object = "clusterupgrade." + v1alpha1.Group + "/" + u.Name
		e.Changed, _ = u.Changed() // a record has no name where none is known
		e.RetryOf, e.IgnoreChecks, e.EtcdSnapshot = u.Spec.RetryOf, u.Spec.IgnoreChecks, u.Status.EtcdSnapshot
	}
	items := make([]render.Ended, 0, len(byUID))
	for _, e := range byUID {
		items = append(items, *e)
	}
	slices.SortFunc(items, func(a, b render.Ended) int {
		at := func(e render.Ended) int64 {
			if e.CompletionTime == nil {
				return 0
			}
			return e.CompletionTime.Unix()
		}
		return cmp.Or(cmp.Compare(at(a), at(b)), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Object, b.Object))
	})
	return items
}

// endedFromRecord returns the upgrade as the first piece of its record has it.
func endedFromRecord(r *v1alpha1.UpgradeRecord) *render.Ended {
	return &render.Ended{
		Name: r.Upgrade.Name, Object: "upgraderecord." + v1alpha1.Group + "/" + r.Name, Type: r.Type, From: r.FromVersion, To: r.Version,
		TriggerTime: instant(r.TriggerTime), CompletionTime: instant(&r.CompletionTime), Outcome: r.Outcome, Reason: r.Reason, Message: r.Message,
		Nodes: r.Counts, RequestedBy: requestedBy(r.RequestedBy, r.CreatedBy), IgnoreChecks: r.IgnoreChecks, EtcdSnapshot: r.EtcdSnapshot,
		People: render.People{Changed: r.ChangedBy != "", ChangedBy: r.ChangedBy, ApprovedBy: r.ApprovedBy},
	}
}

// endedFromUpgrade returns an upgrade whose record no longer exists.
func endedFromUpgrade(u *v1alpha1.ClusterUpgrade) *render.Ended {
	v := Upgrade(u)
	return &render.Ended{
		Name: v.Name, Type: v.Type, From: v.From, To: v.To, TriggerTime: v.TriggerTime, CompletionTime: v.CompletionTime,
		Outcome: v.Outcome, Reason: v.Reason, Message: v.Message, Nodes: u.Status.Nodes, RequestedBy: v.RequestedBy, People: v.People,
	}
}
