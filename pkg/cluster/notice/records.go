package notice

import (
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/notice/wire"
)

// Key is one event for one notice.
type Key struct{ ID, Notice string }

// Result is what came of a Key.
type Result int

// The results.
const (
	Sent   Result = iota + 1
	GaveUp        // it could not be sent for as long as it is retried
)

// Records returns the records that the status after of the upgrade u should have, and when there may
// be others even if nothing changes: those that u has, with what was sent meanwhile, and new events.
// predicted completes the message of Announced.
func Records(u *v1alpha1.ClusterUpgrade, after *v1alpha1.ClusterUpgradeStatus, notices []v1alpha1.Notice,
	results map[Key]Result, predicted func() string, now time.Time) (records []v1alpha1.NoticeRecord, again *time.Time) {
	state, tellable := stateOf(after)
	for _, r := range u.Status.Notices {
		r = settled(r, notices, results)
		if stands := tellable && sameState(r, state); stands || !isEarly(r, now) { // else it has passed, and was not sent
			records = append(records, r)
		}
	}
	found := eventsOf(u, after, records, now)
	for _, r := range found.list {
		for i := range notices {
			if notices[i].Wants(r.Event) {
				r.Pending = append(r.Pending, notices[i].Name)
			}
		}
		if r.Pending == nil {
			continue
		}
		if r.Event == v1alpha1.NoticeAnnounced {
			r.Message = oneLine(r.Message + predicted())
		}
		records = append(records, r)
	}
	again = found.again
	for _, r := range records {
		if at := r.Time.Add(lasting); isEarly(r, now) && (again == nil || at.Before(*again)) {
			again = &at
		}
	}
	return newest(records), again
}

// settled returns the record with the results. A notice that the policy does not have any more is
// told nothing.
func settled(r v1alpha1.NoticeRecord, notices []v1alpha1.Notice, results map[Key]Result) v1alpha1.NoticeRecord {
	var pending []string
	r.Failed = slices.Clone(r.Failed)
	for _, name := range r.Pending {
		switch {
		case !slices.ContainsFunc(notices, func(n v1alpha1.Notice) bool { return n.Name == name }):
		case results[Key{r.ID, name}] == GaveUp:
			r.Failed = append(r.Failed, name)
		case results[Key{r.ID, name}] != Sent:
			pending = append(pending, name)
		}
	}
	r.Pending = pending
	return r
}

// newest drops the oldest records beyond the limit: first states that have been sent, then other
// events that have been sent, which might be told again.
func newest(records []v1alpha1.NoticeRecord) []v1alpha1.NoticeRecord {
	sent := func(r v1alpha1.NoticeRecord) bool { return len(r.Pending) == 0 }
	for len(records) > maxRecords {
		i := slices.IndexFunc(records, func(r v1alpha1.NoticeRecord) bool { return sent(r) && isState(r) })
		if i < 0 {
			i = max(0, slices.IndexFunc(records, sent))
		}
		records = slices.Delete(records, i, i+1)
	}
	return records
}

// Pending is an event that is still to be sent to a notice.
type Pending struct {
	Key
	Time time.Time
	Data wire.Data
}

// AllPending returns what is still to be sent now of the upgrades of a cluster, whose name may be
// empty, the oldest first.
func AllPending(cluster string, upgrades []v1alpha1.ClusterUpgrade, now time.Time) []Pending {
	var all []Pending
	for i := range upgrades {
		u := &upgrades[i]
		for _, r := range u.Status.Notices {
			if isEarly(r, now) {
				continue
			}
			for _, name := range r.Pending {
				all = append(all, Pending{Key: Key{r.ID, name}, Time: r.Time.Time, Data: NewData(cluster, u, r)})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Pending) int { return a.Time.Compare(b.Time) })
	return all
}
