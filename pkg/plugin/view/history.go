package view

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/request"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// NewHistory returns the upgrades that have ended, the oldest first: what their records
// say, and what their ClusterUpgrades say where those still exist.
func NewHistory(upgrades []v1alpha1.ClusterUpgrade, records []v1alpha1.UpgradeRecord) []Ended {
	byUID := map[string]*Ended{}
	slices.SortFunc(records, func(a, b v1alpha1.UpgradeRecord) int { return cmp.Compare(a.Spec.Piece, b.Spec.Piece) })
	for _, r := range records {
		if byUID[r.Spec.Upgrade.UID] == nil {
			byUID[r.Spec.Upgrade.UID] = endedFromRecord(&r)
		}
		e := byUID[r.Spec.Upgrade.UID]
		e.Record = append(e.Record, r.Spec.Nodes...)
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
		e.RetryOf, e.IgnoreChecks, e.IgnoreGates, e.EtcdSnapshot = u.Spec.RetryOf, u.Spec.IgnoreChecks, u.Spec.IgnoreGates, u.Status.EtcdSnapshot
		e.Digests = v1alpha1.DigestsOf(u.Status.Images)
	}
	items := make([]Ended, 0, len(byUID))
	for _, e := range byUID {
		items = append(items, *e)
	}
	slices.SortFunc(items, func(a, b Ended) int {
		at := func(e Ended) int64 {
			if e.EndTime == nil {
				return 0
			}
			return e.EndTime.Unix()
		}
		return cmp.Or(cmp.Compare(at(a), at(b)), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Object, b.Object))
	})
	return items
}

// endedFromRecord returns the upgrade as the first piece of its record has it.
func endedFromRecord(r *v1alpha1.UpgradeRecord) *Ended {
	s := r.Spec
	return &Ended{
		Name: s.Upgrade.Name, UID: s.Upgrade.UID, Object: "upgraderecord." + v1alpha1.Group + "/" + r.Name, Type: s.Type, From: s.FromVersion, To: s.Version,
		TriggerTime: clusterstate.Instant(s.TriggerTime), EndTime: clusterstate.Instant(&s.EndTime), Outcome: s.Outcome, Reason: s.Reason, Message: s.Message,
		Nodes: s.Counts, RequestedBy: requestedBy(s.RequestedBy, s.CreatedBy), Comment: s.Comment, IgnoreChecks: s.IgnoreChecks,
		IgnoreGates: s.IgnoreGates, EtcdSnapshot: s.EtcdSnapshot, Digests: s.Digests,
		People: People{Changed: s.ChangedBy != "", ChangedBy: s.ChangedBy, ApprovedBy: s.ApprovedBy},
	}
}

// endedFromUpgrade returns an upgrade whose record no longer exists.
func endedFromUpgrade(u *v1alpha1.ClusterUpgrade) *Ended {
	v := NewUpgrade(u)
	return &Ended{
		Name: v.Name, UID: string(u.UID), Type: v.Type, From: v.From, To: v.To, TriggerTime: v.TriggerTime, EndTime: v.EndTime,
		Outcome: v.Outcome, Reason: v.Reason, Message: v.Message, Nodes: u.Status.Nodes, RequestedBy: v.RequestedBy, Comment: v.Comment, People: v.People,
	}
}

// NewMinors returns every minor that is on offer, runs, or is staged.
func NewMinors(s clusterstate.Snapshot, now time.Time) []Minor {
	minors := map[string]version.Version{}
	see := func(text string) (line string, known bool) {
		v, err := version.Parse(text)
		if err != nil {
			return "", false
		}
		minors[v.Line()] = v
		return v.Line(), true
	}
	for _, offer := range s.Source.Offers {
		see(offer.Version)
	}
	runs, staged := map[string]map[string]int{}, map[string]map[string]int{}
	count := func(in map[string]map[string]int, text string) {
		if line, known := see(text); known {
			if in[line] == nil {
				in[line] = map[string]int{}
			}
			in[line][text]++
		}
	}
	kubelets := map[string]string{}
	for _, n := range s.Nodes {
		count(runs, n.Kubelet)
		kubelets[n.Name] = n.Kubelet
	}
	for _, u := range s.NodeUpgrades {
		if u.Status.Versions.Staged != kubelets[u.Name] {
			count(staged, u.Status.Versions.Staged)
		}
	}
	items := []Minor{}
	for _, line := range slices.SortedFunc(maps.Keys(minors), func(a, b string) int { return minors[a].Compare(minors[b]) }) {
		one := Minor{Minor: line, Runs: counted(runs[line]), Staged: counted(staged[line])}
		complete, newest := request.Newest(s, line)
		if complete != (version.Version{}) {
			one.Newest = complete.String()
		}
		if complete.Less(newest) {
			one.PartlyOffered = newest.String()
		}
		var end time.Time
		if one.Support, end = minors[line].SupportOf(now); !end.IsZero() {
			one.SupportEnds = end.Format(time.DateOnly)
		}
		one.Blocked = blockedOf(s.Policy, line)
		items = append(items, one)
	}
	return items
}

// blockedOf returns the versions of a minor that the policy, which may be nil, blocks, and those that were taken back.
func blockedOf(policy *v1alpha1.UpgradePolicy, line string) (list []v1alpha1.BlockedVersion) {
	if policy == nil {
		return nil
	}
	var names []string
	for _, one := range policy.Spec.BlockedVersions {
		names = append(names, one.Version)
	}
	for _, one := range policy.Status.TakenBack {
		names = append(names, one.Version)
	}
	for _, name := range names {
		v, err := version.Parse(name)
		again := slices.ContainsFunc(list, func(one v1alpha1.BlockedVersion) bool { return one.Version == name })
		if err == nil && v.Line() == line && !again {
			list = append(list, *policy.Blocked(name))
		}
	}
	return list
}

// counted returns the numbers, the oldest version first.
func counted(numbers map[string]int) []Count {
	var list []Count
	for _, text := range slices.SortedFunc(maps.Keys(numbers), func(a, b string) int {
		left, _ := version.Parse(a) // only what could be read was counted
		right, _ := version.Parse(b)
		return left.Compare(right)
	}) {
		list = append(list, Count{Version: text, Nodes: numbers[text]})
	}
	return list
}
