package guard

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// likeReal sets the pause between two observations to that of a real guard, which looks at the clock twice in each.
func (n *node) likeReal() { n.look = pollInterval / 2 }

// TestRequests checks how often the API server is asked of a node that becomes healthy and is confirmed
// after the default settleSeconds, of one that is returned, and of one whose API server is silent for long.
func TestRequests(t *testing.T) {
	const most = 10
	for name, test := range map[string]struct {
		health    Health
		confirmed time.Duration
		silent    time.Duration
		most      int
	}{
		"confirmed":                {Health{}, 140 * time.Second, 0, most},
		"not confirmed":            {Health{}, time.Hour, 0, most + 5},
		"never Ready":              {Health{API: "NotReady"}, time.Hour, 0, most + 5},
		"a silent API server":      {Health{}, time.Hour, 23 * time.Minute, 140},
		"a kubelet that is broken": {Health{Kubelet: "refused"}, time.Hour, 0, most + 5},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, v1alpha1.MethodReboot)
			n.health, n.silent, n.kubelet = test.health, test.silent, 8*time.Second
			n.likeReal()
			n.onLook = func() {
				if n.clock >= test.confirmed {
					n.must(n.DisarmGuard())
				}
			}
			n.guard()
			t.Logf("%d requests in %s", n.asked, n.clock)
			if n.asked > test.most {
				t.Errorf("the API server was asked %d times, want at most %d", n.asked, test.most)
			}
		})
	}
}

// TestVerdictWithoutAnswer checks that what the API server says, and for how long it has, changes no verdict while
// it is not asked.
func TestVerdictWithoutAnswer(t *testing.T) {
	seconds := func(t *rapid.T, name string) time.Duration {
		return time.Duration(rapid.IntRange(0, 700).Draw(t, name)) * time.Second
	}
	text := func(t *rapid.T, name string) string { return rapid.SampledFrom([]string{"", "", name}).Draw(t, name) }
	seldom := func(t *rapid.T, name string) bool { return rapid.IntRange(0, 3).Draw(t, name) == 0 }
	version := rapid.SampledFrom([]string{"", "v1.34.3", "v1.34.4", "v1.34.4", "v1.34.4"})
	check := func(t *rapid.T) {
		a := activation
		a.ByReboot, a.Limit = rapid.Bool().Draw(t, "by reboot"), max(seconds(t, "limit"), 30*time.Second)
		o := Observation{
			Elapsed: seconds(t, "elapsed"), Watched: seconds(t, "watched"), Steady: seconds(t, "steady"), KubeletStarted: seconds(t, "the kubelet started"),
			Boots: rapid.IntRange(0, 5).Draw(t, "boots"), Reboots: rapid.IntRange(0, 4).Draw(t, "reboots"), Elsewhere: seldom(t, "elsewhere"),
			Rebooted: rapid.Bool().Draw(t, "rebooted"), Returning: rapid.Bool().Draw(t, "returning"), Returned: seldom(t, "returned"),
			RebootedSince: rapid.Bool().Draw(t, "since"), FormerGone: rapid.Bool().Draw(t, "gone"),
			Active: version.Draw(t, "active"), Merged: version.Draw(t, "merged"),
			Health:  Health{Kubelet: text(t, "kubelet"), StaticPods: text(t, "pods"), Network: text(t, "network")},
			Merging: rapid.Bool().Draw(t, "merging"), GaveUp: text(t, "exit-code"),
			Tried: Tried{Merge: rapid.Bool().Draw(t, "merged again"), Kubelet: text(t, "start-limit-hit"), FormerFailure: text(t, "no medium"), At: seconds(t, "tried")},
		}
		if o.Merged == "" || NeedsAnswer(a, o) {
			return // no kubelet runs whose node the API server could show, or it is asked
		}
		without, _ := Decide(a, o)
		told := o
		told.Health = o.Health.with(answer{given: true, problem: text(t, "NotReady")}, rapid.Bool().Draw(t, "hosts"))
		told.Answers = seconds(t, "answers")
		if with, why := Decide(a, told); with != without {
			t.Errorf("%s, and %s (%s) with an answer: %+v", without, with, why, told)
		}
	}
	for range 50 {
		rapid.Check(t, check)
	}
}

// TestAnswerBeforeItActs checks that a node is not returned, nor the guard ended, on an answer that no longer holds.
func TestAnswerBeforeItActs(t *testing.T) {
	for changes := 176 * time.Second; changes < 200*time.Second; changes += 7 * time.Second {
		for _, change := range [][2]Health{
			{{}, {API: "NotReady"}}, {{API: "NotReady"}, {}}, {{}, {Kubelet: "refused"}}, {{Kubelet: "refused"}, {}},
		} {
			n := newNode(t, v1alpha1.MethodReboot)
			n.likeReal()
			n.onLook = func() {
				if n.health = change[0]; n.clock >= changes {
					n.health = change[1]
				}
			}
			if n.guard(); n.clock-n.askedAt > pollInterval || n.clock > 5*time.Minute {
				t.Errorf("%+v after %s, and the answer was that of %s when the guard acted at %s", change, changes, n.askedAt, n.clock)
			}
		}
	}
}

// TestLateDeath checks that a node that is healthy at first and not at the limit is returned at the limit, or as soon as
// the problem has lasted.
func TestLateDeath(t *testing.T) {
	for name, problem := range map[string]Health{
		"kubelet": {Kubelet: "refused"}, "static pods": {StaticPods: "etcd"}, "network": {Network: "no route", API: "NotReady"}, "API": {API: "NotReady"},
	} {
		for dies := 20 * time.Second; dies < 175*time.Second; dies += 77 * time.Second {
			n := newNode(t, v1alpha1.MethodReboot)
			n.likeReal()
			n.health = Health{}
			n.onLook = func() {
				if n.clock >= dies {
					n.health = problem
				}
			}
			limit := max(3*time.Minute, dies+Steady) + AskEvery + 5*time.Second
			if !n.guard() || n.clock > limit {
				t.Errorf("%s dies after %s: the guard ended after %s, want a rollback within %s (%d reboots)", name, dies, n.clock, limit, n.reboots)
			}
		}
	}
}

// TestNetworkOfAReadyWorker checks that a worker that the API server shows as Ready needs no route of its own to it, and a
// node with an API server does.
func TestNetworkOfAReadyWorker(t *testing.T) {
	for _, hosts := range []bool{false, true} {
		n := newNode(t, v1alpha1.MethodReboot)
		n.likeReal()
		n.health, n.hosts = Health{Network: "no route"}, hosts
		if returned := n.guard(); returned != hosts {
			t.Errorf("an API server runs on the node: %t, and it was returned: %t", hosts, returned)
		}
	}
}

// TestAsk checks who asks for what.
func TestAsk(t *testing.T) {
	var asked, by string
	ready := "True"
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked, by = r.Method+" "+r.URL.Path, r.UserAgent()
		if ready == "" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"kind":"Node","apiVersion":"v1","status":{"nodeInfo":{"bootID":"boot-2","kubeletVersion":%q},"conditions":[{"type":"Ready","status":%q,"message":"no CNI"}]}}`, to, ready)
	}))
	defer server.Close()
	n := newNode(t, v1alpha1.MethodReboot)
	n.access(server.URL, "system:node:w1")
	c := newChecker(n.Layout, host.Guard{To: to})
	if got := c.ask(t.Context()); got != (answer{given: true}) {
		t.Errorf("of a Ready node: %+v", got)
	}
	if asked != "GET /api/v1/nodes/w1" || by != UserAgent {
		t.Errorf("%s asked %s", by, asked)
	}
	ready = "False"
	if got := c.ask(t.Context()); got != (answer{given: true, problem: "the API server answers that the node is not Ready: no CNI"}) {
		t.Errorf("of a node that is not Ready: %+v", got)
	}
	ready = ""
	if got := c.ask(t.Context()); got != (answer{}) {
		t.Errorf("a refusal is an answer: %+v", got)
	}
}
