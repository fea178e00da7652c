package silence

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// todo is what is due for one silence of the policy.
type todo struct {
	end []clusterstate.Owner
	set []posted // those without an id are new
	of  []clusterstate.Owner
}

func (t todo) empty() bool { return len(t.end)+len(t.set) == 0 }

// plan returns what is due now. It notes since when each node is at work.
func (one *kept) plan(work []Work, retired bool, now time.Time) (t todo) {
	atWork := map[clusterstate.Owner]bool{}
	for _, w := range work {
		atWork[w.Owner] = true
		began, seen := one.began[w.Owner]
		if !seen || !w.Began.IsZero() && w.Began.Before(began) { // a node cannot prolong its silence
			began = now
			if !w.Began.IsZero() && w.Began.Before(now) {
				began = w.Began
			}
			one.began[w.Owner] = began
		}
		until := began.Add(w.Bound)
		have, is := one.held[w.Owner]
		switch {
		case retired || !until.After(now):
			if is {
				t.end = append(t.end, w.Owner)
			}
		case !is:
			// Some time ahead: Alertmanager keeps the start as it is then, and so the silence, when
			// it is extended.
			have = posted{Matchers: matchers(&one.silence, w.Owner.Node), StartsAt: now.UTC().Truncate(time.Second).Add(2 * time.Second), CreatedBy: creator, Comment: comment(w.Owner)}
			fallthrough
		case have.EndsAt.Sub(now) < Lease/2 && have.EndsAt.Before(until):
			have.EndsAt = now.UTC().Add(Lease).Truncate(time.Second)
			if until.Before(have.EndsAt) {
				have.EndsAt = until.UTC()
			}
			t.set, t.of = append(t.set, have), append(t.of, w.Owner)
		}
	}
	for owner := range one.held {
		if !atWork[owner] {
			t.end = append(t.end, owner)
		}
	}
	maps.DeleteFunc(one.began, func(owner clusterstate.Owner, _ time.Time) bool { return !atWork[owner] })
	slices.SortFunc(t.end, func(a, b clusterstate.Owner) int { return cmp.Compare(a.Node, b.Node) })
	return t
}

// carryOut does it. The first failure ends it, as the next would only take time.
func (one *kept) carryOut(ctx context.Context, server alertmanager, t todo, now time.Time) error {
	for _, owner := range t.end {
		if have := one.held[owner]; have.EndsAt.After(now) { // else it has ended by itself
			if err := server.end(ctx, have.ID); err != nil {
				return fmt.Errorf("ending the silence of node %s: %w", owner.Node, err)
			}
		}
		delete(one.held, owner)
	}
	for i, p := range t.set {
		id, err := server.post(ctx, p)
		if p.ID != "" && isUnknown(err) {
			delete(one.held, t.of[i])
			p.ID, p.StartsAt = "", now.UTC().Truncate(time.Second).Add(2*time.Second)
			id, err = server.post(ctx, p)
		}
		if err != nil {
			return fmt.Errorf("silencing node %s: %w", t.of[i].Node, err)
		}
		p.ID = id
		one.held[t.of[i]] = p
	}
	return nil
}

// adopt takes over the silences that the leader before has left, and ends those of nodes that are
// not at work. Other clusters may use the same Alertmanager: their nodes have other UIDs.
func (one *kept) adopt(ctx context.Context, server alertmanager, work []Work, known func(clusterstate.Owner) bool) error {
	err := server.list(ctx, func(p posted) {
		var owner clusterstate.Owner
		if _, err := fmt.Sscanf(p.Comment, "kubectl-upgrade upgrades node %s (UID %s", &owner.Node, &owner.UID); err != nil || len(owner.UID) == 0 {
			return
		}
		owner.UID = owner.UID[:len(owner.UID)-1] // the bracket
		if p.Comment != comment(owner) || !known(owner) || !sameMatchers(p.Matchers, matchers(&one.silence, owner.Node)) {
			return
		}
		p.Status = nil
		one.held[owner] = p
		if slices.ContainsFunc(work, func(w Work) bool { return w.Owner == owner }) {
			one.began[owner] = p.StartsAt
		}
	})
	if err != nil {
		return fmt.Errorf("looking for silences of the leader before: %w", err)
	}
	one.listed = true
	return nil
}

// sameMatchers reports whether both are the same, in any order.
func sameMatchers(a, b []matcher) bool {
	order := func(x, y matcher) int { return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.Value, y.Value)) }
	return slices.Equal(slices.SortedFunc(slices.Values(a), order), slices.SortedFunc(slices.Values(b), order))
}
