package agent

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/pretend"
)

// asking is an agent of a control plane that is about to take its node down, and a test that answers for etcd.
type asking struct {
	*testing.T
	agent *Agent
	host  *pretend.Host
	now   time.Time
	asked int // how often the reboot was asked for
}

func newAsking(t *testing.T) *asking {
	h := pretend.NewHost()
	h.Takes = time.Hour // answer ends the verb
	a := &asking{T: t, host: h, now: time.Date(2026, 11, 21, 1, 0, 0, 0, time.UTC)}
	a.restart()
	return a
}

// restart replaces the agent with one that knows nothing.
func (a *asking) restart() {
	a.agent = assemble(Config{Node: "cp1", Host: a.host, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return a.now }})
	none := cache.NewSharedIndexInformer(&cache.ListWatch{}, &corev1.Node{}, 0, cache.Indexers{})
	a.agent.kubelet.nodes, a.agent.report.nodeUpgrades = none, none
}

// round returns a round of a released node whose status was just written.
func (a *asking) round() *round {
	order := &v1alpha1.NodeUpgrade{Spec: v1alpha1.NodeUpgradeSpec{Release: v1alpha1.ReleaseNode}}
	o := machine.Observation{Host: &machine.Host{OneAtATime: true}, Spec: order.Spec, Now: a.now}
	return &round{Observation: o, answer: order}
}

// answer answers for etcd, unless nothing is asked.
func (a *asking) answer(othersHealthy bool) {
	if !a.host.Running[verb.Etcd] {
		return
	}
	members := []v1alpha1.EtcdMember{{Name: "cp1", Healthy: true}, {Name: "cp2", Healthy: true}, {Name: "cp3", Healthy: othersHealthy}}
	out, err := json.Marshal(verb.EtcdOutput{Etcd: &v1alpha1.EtcdFacts{Members: members}})
	if err != nil {
		a.Fatal(err)
	}
	a.host.Running[verb.Etcd] = false
	a.host.Results[verb.Etcd] = &verb.Result{Verb: verb.Etcd, Key: a.host.Asked[verb.Etcd].Key, OK: true, FinishedAt: a.now, Output: out}
}

// reboot has the agent ask for a reboot, with a second between its attempts, until etcd has answered.
func (a *asking) reboot(othersHealthy bool) error {
	for before := a.asked; ; {
		err := a.agent.reboot(a.Context(), a.round(), func(context.Context) error { a.asked++; return nil })
		if err != nil || a.asked > before {
			return err
		}
		a.now = a.now.Add(time.Second)
		a.answer(othersHealthy)
	}
}

// TestEachRebootAsksEtcd checks that each request for a reboot is preceded by an answer of etcd that it keeps its
// majority: the first one, one of an agent that was down meanwhile, and the one that is repeated.
func TestEachRebootAsksEtcd(t *testing.T) {
	a := newAsking(t)
	a.agent.etcd.facts, a.agent.etcd.at = &v1alpha1.EtcdFacts{Members: []v1alpha1.EtcdMember{{Name: "cp1", Healthy: true}}}, a.now.Add(-time.Second) // of the last check
	if err := a.reboot(false); err == nil || a.asked != 0 || !strings.Contains(a.agent.host.reboots.problem.Error(), "would have 1 of the 2 it needs") {
		t.Fatalf("a member has failed since the last check: %d requests, %v", a.asked, err)
	}
	if o, _ := a.agent.observe(t.Context(), &openRules{}); o.RebootReason != v1alpha1.ReasonEtcdQuorum || o.RebootTriedAt.IsZero() || !o.RebootAskedAt.IsZero() {
		t.Errorf("the status would say %s: %s; tried at %s, asked at %s", o.RebootReason, o.RebootProblem, o.RebootTriedAt, o.RebootAskedAt)
	}
	if err := a.reboot(true); err != nil || a.asked != 1 || a.agent.host.reboots.problem != nil {
		t.Errorf("it has a majority again: %d requests, %v", a.asked, err)
	}
	a.now = a.now.Add(machine.RebootWithin)
	if err := a.reboot(false); err == nil || a.asked != 1 {
		t.Errorf("a member has failed since the first request: %d requests, %v", a.asked, err)
	}
	a.restart()
	if err := a.reboot(false); err == nil || a.asked != 1 {
		t.Errorf("the agent was down meanwhile: %d requests, %v", a.asked, err)
	}
}

// TestSilentEtcdIsTold checks that nothing is asked for while etcd does not answer, and that this is told.
func TestSilentEtcdIsTold(t *testing.T) {
	a := newAsking(t)
	action := machine.Action{Do: machine.DoWork, Verb: verb.Restart, Key: "k"}
	if err := a.agent.work(t.Context(), action, a.round()); err != nil || a.host.Asked[verb.Restart] != nil {
		t.Errorf("etcd has not answered yet: %v, restarted %v", err, a.host.Asked[verb.Restart])
	}
	a.now = a.now.Add(majorityWithin)
	if err := a.agent.work(t.Context(), action, a.round()); err == nil || a.host.Asked[verb.Restart] != nil {
		t.Errorf("etcd does not answer: %v, restarted %v", err, a.host.Asked[verb.Restart])
	}
	if u := a.agent.host.startFailures[verb.Restart]; u.Reason != v1alpha1.ReasonEtcdQuorum || u.Key != "k" || !strings.Contains(u.Message, "has not answered") {
		t.Errorf("told is %+v", u)
	}
	worker := a.round()
	worker.Host.OneAtATime = false
	if answered, err := a.agent.etcd.keepsMajority(t.Context(), worker); !answered || err != nil {
		t.Errorf("a worker asks etcd: %v", err)
	}
}

// TestAbandonedDoesNotBegin checks that a node which was abandoned since the rules were asked does not begin: the
// answer to the status that is written before says so.
func TestAbandonedDoesNotBegin(t *testing.T) {
	a := newAsking(t)
	r := a.round()
	if hold := stillReleased(r.Spec, r.answer); hold.Holds() {
		t.Errorf("released: %+v", hold)
	}
	r.answer.Abandoned = &v1alpha1.Abandoned{}
	if hold := stillReleased(r.Spec, r.answer); hold != abandoned {
		t.Errorf("abandoned: %+v", hold)
	}
	for _, step := range []v1alpha1.Step{v1alpha1.StepSnapshotting, v1alpha1.StepKubeadm, v1alpha1.StepCordoning} {
		a.agent.state.Step, r.state.Step = step, step
		if _, err := a.agent.act(t.Context(), machine.Action{Do: machine.DoCordon}, r); err == nil || !strings.Contains(err.Error(), "abandoned") {
			t.Errorf("in %s: %v", step, err)
		}
	}
	for oneAtATime, later := range map[bool]bool{false: true, true: false} {
		a.agent.report.last.sent.Step, r.Host = v1alpha1.StepLocking, &machine.Host{OneAtATime: oneAtATime}
		if got := a.agent.report.mayWriteLater(machine.Action{Do: machine.DoCordon}, r); got != later {
			t.Errorf("one at a time %t: the status is written after the cordon: %t", oneAtATime, got)
		}
	}
}

// TestEngineIsAskedAfterFacts checks that update_engine's status is no older than the facts of the host.
func TestEngineIsAskedAfterFacts(t *testing.T) {
	a := newAsking(t)
	r := a.round()
	if err := a.agent.host.gather(t.Context(), r, "reboot-1"); err != nil {
		t.Fatal(err)
	}
	a.host.Running[verb.Facts] = false
	a.host.Results[verb.Facts] = &verb.Result{Verb: verb.Facts, Key: a.host.Asked[verb.Facts].Key, OK: true, Output: []byte("{}")}
	if err := a.agent.host.gather(t.Context(), r, "reboot-1"); err != nil || a.agent.host.seen.after != "reboot-1" || !a.agent.host.engine.ask.Load() {
		t.Errorf("%v; facts after %q, update_engine is asked: %t", err, a.agent.host.seen.after, a.agent.host.engine.ask.Load())
	}
}
