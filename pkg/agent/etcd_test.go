package agent

import (
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/etcd"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/verb"
)

// What could not be asked is not an answer: one error of the system bus closes no gate
// on a node that has been drained already.
func TestEtcdThatCouldNotBeAsked(t *testing.T) {
	h := newFakeHost()
	h.busFails = verb.Etcd
	a := &Agent{Config: Config{Node: "n", Host: h, Log: slog.New(slog.DiscardHandler), Now: time.Now}, startFailures: map[verb.Verb]startFailure{}}
	o := machine.Observation{Now: time.Now(), Host: &machine.Host{ControlPlane: true}}
	if a.checkEtcd(t.Context(), o, time.Time{}) || a.etcd.facts != nil {
		t.Errorf("answered: %+v", a.etcd.facts)
	}
	if u := a.startFailures[verb.Etcd]; u.Reason != v1alpha1.ReasonHostUnreachable || u.Message != "the bus is away" {
		t.Errorf("%+v", u)
	}
	a.checkEtcd(t.Context(), o, time.Time{})
	if h.asked[verb.Etcd] == nil || len(a.startFailures) > 0 {
		t.Errorf("not asked again: %+v", a.startFailures)
	}
}

// Members that are down let the question wait until it gives up, which is longer
// than an answer is believed. It is an answer all the same.
func TestSlowAnswerOfEtcdCounts(t *testing.T) {
	h := newFakeHost()
	h.takes = time.Hour // the answer is made by hand
	a := &Agent{Config: Config{Node: "n", Host: h, Log: slog.New(slog.DiscardHandler)}}
	since := time.Date(2026, 11, 21, 1, 0, 0, 0, time.UTC)
	o := machine.Observation{Now: since, Host: &machine.Host{ControlPlane: true}}
	look := func(want bool, when string) {
		t.Helper()
		if got := a.checkEtcd(t.Context(), o, since); got != want {
			t.Errorf("%s: %v, want %v", when, got, want)
		}
	}
	look(false, "nothing was asked before")
	look(false, "the question is on its way")

	o.Now = since.Add(2 * etcdAge)
	out, err := json.Marshal(etcd.HealthOutput{Etcd: &v1alpha1.EtcdFacts{}})
	if err != nil {
		t.Fatal(err)
	}
	h.running[verb.Etcd] = false
	h.results[verb.Etcd] = &host.Result{Verb: verb.Etcd, Key: h.asked[verb.Etcd].Key, OK: true, FinishedAt: o.Now, Output: out}
	look(true, "the answer has just come")

	o.Now = o.Now.Add(2 * etcdAge)
	look(false, "the answer is old")
}
