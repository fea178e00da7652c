package sim

import (
	"fmt"
	"math/rand/v2"
	"sort"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/gate"
)

// A chain is three clusters, each of which follows the one before it. Nothing goes from a follower to its
// leader, so that they are simulated one after the other: the first one leaves what it published, and what
// was true of it, at each moment, and the next one asks that.

// leaderGate is the gate of a follower.
const leaderGate = "leader"

// clocksApart is by how much the clocks of clusters differ at most: package gate refuses more.
const clocksApart = 30 * time.Second

// answersAfter is how soon what is true of a leader has to be in what it publishes: its Lease may be a
// minute old while no coordinator leads, and its watches may be late.
const answersAfter = 5 * time.Minute

// follows says how a cluster follows its leader.
type follows struct {
	leader history
	soak   time.Duration
	clock  time.Duration // by how much the leader's clock is ahead
	apart  []span        // in which they do not reach each other
}

func (f *follows) String() string {
	return fmt.Sprintf("follows for %s a leader whose clock is ahead by %s; they are apart %v", f.soak, f.clock, f.apart)
}

type span struct{ from, to time.Duration } // from the story's begin

// moment is what a cluster publishes, and what is true of it, from then on.
type moment struct {
	at       time.Time
	ran      []v1alpha1.RanVersion
	leads    bool      // a coordinator lives
	ledUntil time.Time // if none lives
	truths   map[string]truth
}

// truth is what is true of a version in a cluster.
type truth struct {
	since   time.Time     // every node has run it, and none has left it since; zero: that is not so
	longest time.Duration // for how long that was so, at most, before
	failed  string        // the UID of the upgrade in which a node failed with it
	digest  string        // of the last upgrade to it
}

// history has the moments of a cluster, in order.
type history []moment

// at returns the moment that was the last one then.
func (h history) at(t time.Time) moment {
	i := sort.Search(len(h), func(i int) bool { return h[i].at.After(t) })
	if i == 0 {
		return moment{}
	}
	return h[i-1]
}

// chainScript returns the script of a cluster of a chain: a patch, with the faults of other scripts. Those
// of followers last longer, as they wait for their leader.
func chainScript(seed uint64, place int, leader history) script {
	r := rand.New(rand.NewPCG(seed, uint64(20+place)))
	s := newScript(r.Uint64())
	for s.To != "v1.34.4" || s.Reboot || s.Gates {
		s = newScript(r.Uint64())
	}
	if place == 0 {
		s.Follows = &follows{}
		return s
	}
	later := time.Duration(place) * 10 * time.Minute
	s.Lasts += 2 * later
	s.Closes += 2 * later
	for i := range s.Faults {
		if r.IntN(2) == 0 {
			s.Faults[i].At += time.Duration(r.Int64N(int64(2 * later)))
		}
	}
	s.Follows = &follows{leader: leader, soak: time.Duration(r.IntN(240)) * time.Second, clock: time.Duration(r.IntN(59)-29) * time.Second}
	for range r.IntN(4) {
		from := time.Duration(r.Int64N(int64(s.Lasts)))
		s.Follows.apart = append(s.Follows.apart, span{from, from + time.Duration(20+r.IntN(300))*time.Second})
	}
	return s
}

// follower reports whether the cluster follows another one.
func (s script) follower() bool { return s.Follows != nil && s.Follows.leader != nil }

func newLeaderGate(f *follows) tree {
	return tree{"name": leaderGate, "timeoutSeconds": 5.0, "cluster": tree{"kubeconfigSecretRef": tree{"name": leaderGate}, "soakSeconds": f.soak.Seconds()}}
}

// TestChains runs CHAINS chains, from CHAIN on. No node begins with a version before the leader has run it
// for long enough, with the same image and without a failure, as that is in truth and not by what it
// publishes. Every other promise holds as well.
func TestChains(t *testing.T) {
	first, chains := number(t, "CHAIN", 1), number(t, "CHAINS", 30)
	followed := 0
	for chain := first; chain < first+chains; chain++ {
		var leader history
		for place := range 3 {
			s := chainScript(chain, place, leader)
			result := simulate(t, s, chains == 1)
			if result.failure != "" {
				t.Fatalf("CHAIN=%d CHAINS=1, cluster %d of 3: %s\n%s\n%s\n%s\n%s", chain, place+1, result.failure, s.Follows, s, result.story, result.status)
			}
			leader, followed = result.history, followed+result.followed
		}
	}
	t.Logf("%d nodes began with what their leader had soaked, in %d chains", followed, chains)
	if chains > 5 && followed == 0 {
		t.Error("no follower has begun anything, so that nothing was checked")
	}
}

// noteMoment notes what the cluster publishes and what is true of it, if that has changed.
func (w *world) noteMoment() {
	m := moment{at: w.now(), truths: map[string]truth{}}
	var last moment
	if n := len(w.history); n > 0 {
		last = w.history[n-1]
	}
	if policy := w.livePolicy(); policy != nil {
		m.ran = policy.Status.Ran
	}
	for _, c := range w.coordinators {
		m.leads = m.leads || c != nil && !c.isDead
	}
	if m.ledUntil = last.ledUntil; last.leads {
		m.ledUntil = w.now()
	}
	for _, n := range w.nodes {
		if n.kubelet != "" {
			w.kubelets[n.uid] = n.kubelet
		}
	}
	for _, u := range w.upgrades() {
		w.versions[string(u.UID)] = u.Spec.Version
	}
	for _, v := range []string{w.script.To, w.script.next()} {
		m.truths[v] = w.truthOf(v, last.truths[v])
	}
	w.history = append(w.history, m)
}

// truthOf returns what is true of a version, after what was.
func (w *world) truthOf(v string, was truth) truth {
	now, all := was, true
	for _, n := range w.nodes {
		nu := w.nodeUpgrade(n.name)
		if n.removed || n.packages || nu == nil || !nu.Spec.Managed || nu.Abandoned != nil {
			continue
		}
		if nu.Status.Step.Info().Phase == v1alpha1.PhaseStopped && nu.Status.Upgrade != nil && !n.isAtFault(nu.Status.Upgrade.UID) && w.versions[nu.Status.Upgrade.UID] == v {
			now.failed = nu.Status.Upgrade.UID
		}
		runs := w.kubelets[n.uid] == v
		if !runs && w.ran[n.uid+v] && !was.since.IsZero() { // it has left it
			now.longest, now.since = max(was.longest, w.now().Sub(was.since)), time.Time{}
		}
		w.ran[n.uid+v] = runs
		all = all && runs
	}
	if all && now.since.IsZero() {
		now.since = w.now()
	}
	var triggered time.Time
	for _, u := range w.upgrades() {
		if u.Spec.Version != v || u.Spec.Type == v1alpha1.TypeRollback {
			continue
		}
		if digest, at := w.fixed[string(u.UID)], u.Status.TriggerTime; digest != "" && at != nil && !at.Time.Before(triggered) {
			now.digest, triggered = digest, at.Time
		}
		if u.Status.Outcome == v1alpha1.OutcomeSucceeded && string(u.UID) != now.failed {
			now.failed = ""
		}
	}
	return now
}

// askLeader answers the gate of a follower, as package gate does.
func (w *world) askLeader() gate.Answer {
	if why := w.unreadable(w.now()); why != "" {
		return gate.Answer{State: v1alpha1.GateUnknown, Message: why}
	}
	answer := gate.Answer{State: v1alpha1.GateOpen, Message: "simulated"}
	for _, one := range w.script.Follows.leader.at(w.now()).ran {
		one = *one.DeepCopy()
		for _, at := range []*metav1.Time{one.SinceTime, one.UntilTime} {
			if at != nil {
				at.Time = at.Add(w.script.Follows.clock)
			}
		}
		answer.Ran = append(answer.Ran, one)
	}
	return answer
}

// unreadable returns why the leader could not be asked at that time.
func (w *world) unreadable(at time.Time) string {
	for _, apart := range w.script.Follows.apart {
		if since := at.Sub(w.started); since >= apart.from && since < apart.to {
			return "the leader does not answer"
		}
	}
	if m := w.script.Follows.leader.at(at); !m.leads && at.Sub(m.ledUntil) > time.Minute {
		return "no coordinator leads there"
	}
	return ""
}

// notSoaked returns why no node may begin with a version at that time, by what is true of the leader.
func (w *world) notSoaked(v, digest string, at time.Time) string {
	if why := w.unreadable(at); why != "" {
		return why
	}
	now := w.script.Follows.leader.at(at).truths[v]
	soaked := now.longest
	if !now.since.IsZero() {
		soaked = max(soaked, at.Sub(now.since))
	}
	before := w.script.Follows.leader.at(at.Add(-answersAfter)).truths[v]
	switch soak := w.script.Follows.soak; {
	case soaked+clocksApart < soak || now.longest == 0 && now.since.IsZero():
		return fmt.Sprintf("the leader has run %s for %s, and not for %s", v, soaked, soak)
	case now.failed != "" && before.failed == now.failed:
		return "a node of the leader failed with " + v
	case digest != now.digest && before.digest == now.digest:
		return fmt.Sprintf("the leader has run %s with %s, and not with %s", v, now.digest, digest)
	}
	return ""
}

// checkSoaked checks that a node of a follower takes its slot for what has soaked in the leader, if a
// coordinator could have known that it had not.
func (w *world) checkSoaked(a *agentProgram) {
	u := w.upgradeOf(a)
	policy := w.livePolicy()
	if !w.script.follower() || w.repaired || policy == nil || len(policy.Spec.Gates) == 0 || u == nil || !u.Spec.Type.RunsKubeadmUpgrade() || u.Status.Outcome != "" {
		return
	}
	w.followed++
	digest, since, why := w.fixed[string(u.UID)], w.now(), ""
	for at := w.now(); w.now().Sub(at) < 10*time.Minute; at = at.Add(-time.Second) {
		one := w.notSoaked(u.Spec.Version, digest, at)
		if one == "" {
			break
		}
		since, why = at, one
	}
	if why != "" && w.decidedSince(since.Add(gate.Interval), a) {
		w.broken("soak", "%s takes a slot for %s, and for %s: %s", a.node.name, u.Name, w.now().Sub(since), why)
	}
}

// addLeaderGate gives a follower's policy its gate.
func (w *world) addLeaderGate(spec tree) {
	if w.script.follower() {
		spec["gates"] = []any{newLeaderGate(w.script.Follows)}
	}
}

// unfollow takes the gate away: people do not wait for a leader that will not get there.
func (w *world) unfollow() {
	if w.script.follower() {
		w.editPolicy(func(spec tree) { delete(spec, "gates") })
	}
}
