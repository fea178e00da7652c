package agent

import (
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/pretend"
)

// TestEtcdStartFailureIsNoAnswer checks that one error of the system bus does not hold
// a node that is drained already.
func TestEtcdStartFailureIsNoAnswer(t *testing.T) {
	h := pretend.NewHost()
	h.BusFails = verb.Etcd
	a := assemble(Config{Node: "n", Host: h, Log: slog.New(slog.DiscardHandler), Now: time.Now})
	r := &round{Observation: machine.Observation{Now: time.Now(), Host: &machine.Host{OneAtATime: true}}}
	if a.etcd.check(t.Context(), r, time.Time{}) || a.etcd.facts != nil {
		t.Errorf("got facts %+v, want none", a.etcd.facts)
	}
	if u := a.host.startFailures[verb.Etcd]; u.Reason != v1alpha1.ReasonHostUnreachable || u.Message != "the bus is away" {
		t.Errorf("got start failure %+v, want HostUnreachable", u)
	}
	a.etcd.check(t.Context(), r, time.Time{})
	if h.Asked[verb.Etcd] == nil || len(a.host.startFailures) > 0 {
		t.Errorf("etcd was not read again: %+v", a.host.startFailures)
	}
}

// TestSlowEtcdAnswerCounts checks that an answer counts although it took longer than answers
// stay valid, as when members are down.
func TestSlowEtcdAnswerCounts(t *testing.T) {
	h := pretend.NewHost()
	h.Takes = time.Hour // the test sets the answer
	a := assemble(Config{Node: "n", Host: h, Log: slog.New(slog.DiscardHandler), Now: time.Now})
	since := time.Date(2026, 11, 21, 1, 0, 0, 0, time.UTC)
	r := &round{Observation: machine.Observation{Now: since, Host: &machine.Host{OneAtATime: true}}}
	check := func(want bool, when string) {
		t.Helper()
		if got := a.etcd.check(t.Context(), r, since); got != want {
			t.Errorf("%s: got %v, want %v", when, got, want)
		}
	}
	check(false, "before the first answer")
	check(false, "while etcd is read")

	r.Now = since.Add(2 * etcdAge)
	out, err := json.Marshal(verb.EtcdOutput{Etcd: &v1alpha1.EtcdFacts{}})
	if err != nil {
		t.Fatal(err)
	}
	h.Running[verb.Etcd] = false
	h.Results[verb.Etcd] = &verb.Result{Verb: verb.Etcd, Key: h.Asked[verb.Etcd].Key, OK: true, FinishedAt: r.Now, Output: out}
	check(true, "with a new answer")

	r.Now = r.Now.Add(2 * etcdAge)
	check(false, "with an old answer")
}

// TestEtcdWithoutControlPlane checks that a node that runs only a member of etcd asks it, keeps its
// majority, and is not healthy before its member is.
func TestEtcdWithoutControlPlane(t *testing.T) {
	r := &round{Observation: machine.Observation{Node: machine.Node{Ready: true}, Host: &machine.Host{OneAtATime: true}}}
	a := assemble(Config{Node: "e1", Now: time.Now})
	a.etcd.facts = &v1alpha1.EtcdFacts{Members: []v1alpha1.EtcdMember{{Name: "e1", Healthy: true}, {Name: "e2", Healthy: true}, {Name: "e3"}}}
	if hold := a.etcd.hold(r, v1alpha1.ClusterUpgradeSpec{}); hold.Reason != v1alpha1.ReasonEtcdQuorum {
		t.Errorf("with a member down: %+v, want EtcdQuorum", hold)
	}
	if err := a.etcd.unhealthy(t.Context(), r); err != nil {
		t.Errorf("with a majority: %v", err)
	}
	a.etcd.facts.Members[0].Healthy = false
	if err := a.etcd.unhealthy(t.Context(), r); err == nil {
		t.Error("its own member is down: healthy")
	}
}
