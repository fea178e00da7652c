package sim

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/slot"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/verb"
)

// patience is how long after the last fault all upgrades may take. Pauses between attempts
// grow to an hour.
const patience = 4 * time.Hour

// life is the result of a script.
type life struct {
	failure string
	story   string
	begins  int
	steps   int
	ended   time.Duration
	outcome string
}

// live runs a script.
func live(t *testing.T, s script, verbose bool) (result life) {
	synctest.Test(t, func(*testing.T) {
		w := newWorld(s, verbose)
		w.run(w.started.Add(s.Lasts), func() bool { return false })
		if w.failure == "" {
			w.repair()
			w.run(w.now().Add(patience), w.settled)
		}
		if w.failure == "" {
			w.checkEnd()
		}
		for _, p := range w.programs() {
			p.cancel()
		}
		synctest.Wait()
		result = life{failure: w.failure, story: w.story(), begins: w.begins, steps: w.steps, ended: w.now().Sub(w.started), outcome: w.outcome()}
	})
	return result
}

func newWorld(s script, verbose bool) *world {
	w := &world{
		script: s, started: time.Now(), rng: rand.New(rand.NewPCG(s.Seed, 2)), api: newAPI(), log: discard, verbose: verbose,
		agents: map[string]*agentProgram{}, published: digest(1), snapshots: map[string]int{}, fixed: map[string]string{},
		foreign: map[string]bool{}, tampered: map[string]time.Time{}, lastHolder: map[string]string{}, orderedAt: map[string]time.Time{},
	}
	w.api.onWrite = w.wrote
	for _, name := range s.nodes() {
		w.join(name, true)
	}
	w.api.put("admin", key{Resource: "upgradepolicies", Name: v1alpha1.PolicyName}, tree{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "UpgradePolicy",
		"spec": tree{"historyLimit": 20.0, "source": tree{"url": "https://images.example/", "intervalSeconds": 600.0}},
	})
	w.api.put("admin", key{"configmaps", "kube-system", "kubeadm-config"}, tree{
		"apiVersion": "v1", "kind": "ConfigMap", "data": tree{"ClusterConfiguration": "kind: ClusterConfiguration"},
	})
	w.openWindow("window", s.Opens, s.Closes)
	w.createUpgrade()
	w.after(time.Second, "start coordinator", func() { w.startCoordinator(0) })
	for _, f := range s.Faults {
		w.after(f.At, f.Kind, func() { w.happen(f) })
	}
	return w
}

// join adds a node, which runs already or boots.
func (w *world) join(name string, runs bool) {
	n := &node{
		w: w, name: name, controlPlane: name[0] == 'c', labels: map[string]string{"pool": string('a' + name[len(name)-1]%2)},
		installed: map[string]string{w.script.From: digest(0)}, active: w.script.From,
		requests: map[verb.Verb]*host.Request{}, results: map[verb.Verb]*host.Result{}, units: map[verb.Verb]time.Time{},
		broken: map[string]string{}, failing: map[verb.Verb]int{},
	}
	if wrong := w.script.Broken[name]; wrong != "" {
		n.broken[w.script.To] = wrong
	}
	labels := tree{"pool": n.labels["pool"]}
	if n.controlPlane {
		n.staticPods = w.script.From
		labels["node-role.kubernetes.io/control-plane"] = ""
	}
	k := key{Resource: "nodes", Name: name}
	s := w.api.put("admin", k, tree{"apiVersion": "v1", "kind": "Node", "metadata": tree{"labels": labels}, "spec": tree{}, "status": tree{}})
	n.uid = text(metadata(s.tree), "uid")
	w.nodes = append(w.nodes, n)
	if !runs {
		n.power()
		return
	}
	n.on, n.boots, n.merged, n.podsUp, n.kubelet, n.ready = true, 1, n.active, true, n.active, true
	n.osReboot = w.script.Reboot
	w.setNode(n, true)
	w.setPods(n, true)
	w.schedule(n)
	w.after(time.Duration(w.noise(3000))*time.Millisecond, "start agent", func() { w.startAgent(n) })
}

func (w *world) period(name string, from, to time.Duration) tree {
	at := func(d time.Duration) string { return w.started.Add(d).UTC().Format(time.RFC3339) }
	return tree{"name": name, "startTime": at(from), "endTime": at(to)}
}

func (w *world) openWindow(name string, from, to time.Duration) {
	w.createSchedule(name, tree{"maintenanceWindows": []any{w.period(name, from, to)}})
}

func (w *world) createSchedule(name string, spec tree) {
	spec["timeZone"] = "UTC"
	k := key{Resource: "maintenanceschedules", Name: name}
	w.api.remove("admin", k)
	w.api.put("admin", k, tree{"apiVersion": v1alpha1.GroupVersion.String(), "kind": "MaintenanceSchedule", "spec": spec})
}

func (w *world) createUpgrade() {
	s := w.script
	strategy := tree{
		"maxUnavailable": float64(s.Budget), "maxFailures": float64(s.MaxFailures),
		"settleSeconds": float64(s.Settle), "minReadySeconds": float64(s.MinReady), "guardSeconds": float64(s.Guard),
		"drain": tree{"timeoutSeconds": float64(s.Drain)}, "etcdSnapshot": "Skip",
	}
	if s.Snapshot {
		strategy["etcdSnapshot"] = "Required"
	}
	if s.Restart {
		strategy["method"] = "Restart"
	}
	if s.Groups {
		strategy["groups"] = []any{tree{"name": "a", "nodeSelector": tree{"matchLabels": tree{"pool": "a"}}}}
	}
	spec := tree{"version": s.To, "strategy": strategy}
	if s.Reboot {
		delete(spec, "version")
		spec["type"] = "Reboot"
	}
	k := key{Resource: "clusterupgrades", Name: "upgrade"}
	if w.api.objects[k] == nil {
		w.api.put("admin", k, tree{"apiVersion": v1alpha1.GroupVersion.String(), "kind": "ClusterUpgrade", "spec": spec})
	}
}

// settled reports whether nothing is in progress: every upgrade has ended or waits for a
// person, and no node is at work.
func (w *world) settled() bool {
	if len(w.events) > 0 && w.steps%16 != 0 {
		return false
	}
	stopped, waits, person := false, false, false
	for _, n := range w.nodes {
		if n.removed {
			continue
		}
		nu := w.nodeUpgrade(n.name)
		if nu == nil || nu.Status.Step == "" || !n.healthy() && nu.Status.Step.Info().Phase != v1alpha1.PhaseStopped {
			return false
		}
		switch nu.Status.Step.Info().Phase {
		case v1alpha1.PhaseRevocable, v1alpha1.PhaseCommitted:
			return false
		case v1alpha1.PhaseStopped:
			stopped = true
		}
		waits = waits || nu.Status.Step == v1alpha1.StepStaging || nu.Status.Step == v1alpha1.StepWaiting
		if (w.held(n) != "" || w.marked(n)) && nu.Status.Step.Info().Phase != v1alpha1.PhaseStopped {
			return false
		}
	}
	for _, u := range w.upgrades() {
		person = person || u.Status.Outcome == "" && needsPerson(u)
		if u.Status.Outcome == "" && !stopped && !person {
			return false
		}
	}
	return !waits || stopped || person
}

func needsPerson(u *v1alpha1.ClusterUpgrade) bool {
	c := meta.FindStatusCondition(u.Status.Conditions, v1alpha1.ConditionSucceeded)
	return c != nil && (v1alpha1.Reason(c.Reason).Info().NeedsPerson || meta.IsStatusConditionTrue(u.Status.Conditions, v1alpha1.ConditionStalled))
}

func (w *world) marked(n *node) bool {
	object := get[*corev1.Node](w.api, key{Resource: "nodes", Name: n.name})
	return object != nil && (object.Annotations[v1alpha1.CordonAnnotation] != "" || object.Annotations[v1alpha1.SlotAnnotation] != "")
}

// checkEnd checks that the cluster has settled, and that nothing is left over.
func (w *world) checkEnd() {
	if w.steps = 0; !w.settled() {
		w.broken("liveness", "nothing has settled %s after the last fault: %s", patience, w.describe())
		return
	}
	for _, s := range w.api.list("leases", "", func(tree) bool { return true }) {
		one := slotOf(s)
		if one.Holder != (fleet.Owner{}) && !w.stopped(one.Holder) {
			w.broken("leftovers", "%s is held by %s in the end: %s", one.Name, one.Holder, w.describe())
		}
	}
	for _, n := range w.nodes {
		object := get[*corev1.Node](w.api, key{Resource: "nodes", Name: n.name})
		if !n.removed && !w.stopped(n.owner()) && object.Spec.Unschedulable != w.foreign[n.uid] {
			w.broken("promise 5", "%s is unschedulable=%t in the end, and a person cordoned it: %t", n.name, object.Spec.Unschedulable, w.foreign[n.uid])
		}
	}
	for _, u := range w.upgrades() {
		for _, n := range w.nodes {
			if u.Status.Outcome == v1alpha1.OutcomeSucceeded && !n.removed && !w.script.Reboot && n.kubelet != w.script.To && !w.stopped(n.owner()) && !w.anyStopped() {
				w.broken("liveness", "the upgrade succeeded, and %s runs %s", n.name, n.kubelet)
			}
		}
	}
}

func (w *world) anyStopped() bool {
	for _, n := range w.nodes {
		if !n.removed && w.stopped(n.owner()) {
			return true
		}
	}
	return false
}

func (w *world) stopped(owner fleet.Owner) bool {
	nu := w.nodeUpgrade(owner.Node)
	return nu != nil && nu.Status.Step.Info().Phase == v1alpha1.PhaseStopped
}

// describe describes where things stand.
func (w *world) describe() string {
	text := w.outcome()
	for _, n := range w.nodes {
		if n.removed {
			continue
		}
		text += fmt.Sprintf("\n  %s: on %t, kubelet %q, ready %t, active %s, holds %q, marked %t", n.name, n.on, n.kubelet, n.ready, n.active, w.held(n), w.marked(n))
		if nu := w.nodeUpgrade(n.name); nu != nil {
			reason, message := nu.Status.Cause()
			hold, why := nu.Status.Hold()
			text += fmt.Sprintf(", %s (%s: %s) release %q slot %q, admitted (%s: %s)", nu.Status.Step, reason, message, nu.Spec.Release, nu.Spec.Slot, hold, why)
		}
	}
	for _, s := range w.api.list("leases", "", func(tree) bool { return true }) {
		one, err := slot.FromLease(s.object("leases").(*coordinationv1.Lease))
		text += fmt.Sprintf("\n  %s: reserved for %q, held by %q %v", one.Name, one.ReservedFor, one.Holder, err)
	}
	return text
}

func (w *world) outcome() string {
	text := ""
	for _, u := range w.upgrades() {
		c := meta.FindStatusCondition(u.Status.Conditions, v1alpha1.ConditionSucceeded)
		if c != nil {
			text += fmt.Sprintf("%s %s %s %s: %s", u.Name, u.UID, u.Status.Outcome, c.Reason, c.Message)
		}
	}
	return text
}
