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
	a.agent = &Agent{Config: Config{Node: "cp1", Host: a.host, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return a.now }}, startFailures: map[verb.Verb]startFailure{}}
	a.agent.answered, a.agent.lastStatus.spec.Release = true, v1alpha1.ReleaseNode
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
	o := machine.Observation{Host: &machine.Host{OneAtATime: true}, Spec: v1alpha1.NodeUpgradeSpec{Release: v1alpha1.ReleaseNode}}
	for before := a.asked; ; {
		o.Now, a.agent.answered = a.now, true // the status was just written
		err := a.agent.reboot(a.Context(), o, func(context.Context) error { a.asked++; return nil })
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
	if err := a.reboot(false); err == nil || a.asked != 0 || !strings.Contains(a.agent.rebootProblem.Error(), "would have 1 of the 2 it needs") {
		t.Fatalf("a member has failed since the last check: %d requests, %v", a.asked, err)
	}
	none := cache.NewSharedIndexInformer(&cache.ListWatch{}, &corev1.Node{}, 0, cache.Indexers{})
	a.agent.nodes, a.agent.nodeUpgrades = none, none
	if o, _ := a.agent.observe(t.Context()); o.RebootReason != v1alpha1.ReasonEtcdQuorum || o.RebootTriedAt.IsZero() || !o.RebootAskedAt.IsZero() {
		t.Errorf("the status would say %s: %s; tried at %s, asked at %s", o.RebootReason, o.RebootProblem, o.RebootTriedAt, o.RebootAskedAt)
	}
	if err := a.reboot(true); err != nil || a.asked != 1 || a.agent.rebootProblem != nil {
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
	o := machine.Observation{Host: &machine.Host{OneAtATime: true}, Now: a.now, Spec: v1alpha1.NodeUpgradeSpec{Release: v1alpha1.ReleaseNode}}
	action := machine.Action{Do: machine.DoWork, Verb: verb.Restart, Key: "k"}
	if err := a.agent.work(t.Context(), action, verb.Input{}, o); err != nil || a.host.Asked[verb.Restart] != nil {
		t.Errorf("etcd has not answered yet: %v, restarted %v", err, a.host.Asked[verb.Restart])
	}
	a.now = a.now.Add(majorityWithin)
	o.Now, a.agent.answered = a.now, true
	if err := a.agent.work(t.Context(), action, verb.Input{}, o); err == nil || a.host.Asked[verb.Restart] != nil {
		t.Errorf("etcd does not answer: %v, restarted %v", err, a.host.Asked[verb.Restart])
	}
	if u := a.agent.startFailures[verb.Restart]; u.Reason != v1alpha1.ReasonEtcdQuorum || u.Key != "k" || !strings.Contains(u.Message, "has not answered") {
		t.Errorf("told is %+v", u)
	}
	o.Host.OneAtATime = false
	if answered, err := a.agent.keepsMajority(t.Context(), o); !answered || err != nil {
		t.Errorf("a worker asks etcd: %v", err)
	}
}

// TestAbandonedDoesNotBegin checks that a node which was abandoned since its gate was read does not begin: the
// answer to the status that is written before says so.
func TestAbandonedDoesNotBegin(t *testing.T) {
	a := newAsking(t)
	o := machine.Observation{Now: a.now, Spec: v1alpha1.NodeUpgradeSpec{Release: v1alpha1.ReleaseNode}}
	if hold, err := a.agent.stillReleased(t.Context(), o); err != nil || hold.Holds() {
		t.Errorf("released: %+v, %v", hold, err)
	}
	a.agent.lastStatus.abandoned = true
	if hold, err := a.agent.stillReleased(t.Context(), o); err != nil || hold != abandonedHold {
		t.Errorf("abandoned: %+v, %v", hold, err)
	}
	for _, step := range []v1alpha1.Step{v1alpha1.StepSnapshotting, v1alpha1.StepKubeadm, v1alpha1.StepCordoning} {
		a.agent.state.Step = step
		if err := a.agent.act(t.Context(), machine.Action{Do: machine.DoCordon}, o); err == nil || !strings.Contains(err.Error(), "abandoned") {
			t.Errorf("in %s: %v", step, err)
		}
	}
	for oneAtATime, later := range map[bool]bool{false: true, true: false} {
		a.agent.lastStatus.sent.Step, o.Host = v1alpha1.StepLocking, &machine.Host{OneAtATime: oneAtATime}
		if got := a.agent.mayWriteLater(machine.Action{Do: machine.DoCordon}, o); got != later {
			t.Errorf("one at a time %t: the status is written after the cordon: %t", oneAtATime, got)
		}
	}
}

// TestEngineIsAskedAfterFacts checks that update_engine's status is no older than the facts of the host.
func TestEngineIsAskedAfterFacts(t *testing.T) {
	a := newAsking(t)
	o := machine.Observation{Now: a.now}
	if err := a.agent.gather(t.Context(), o, "reboot-1"); err != nil {
		t.Fatal(err)
	}
	a.host.Running[verb.Facts] = false
	a.host.Results[verb.Facts] = &verb.Result{Verb: verb.Facts, Key: a.host.Asked[verb.Facts].Key, OK: true, Output: []byte("{}")}
	if err := a.agent.gather(t.Context(), o, "reboot-1"); err != nil || a.agent.seen.after != "reboot-1" || !a.agent.engine.ask.Load() {
		t.Errorf("%v; facts after %q, update_engine is asked: %t", err, a.agent.seen.after, a.agent.engine.ask.Load())
	}
}
