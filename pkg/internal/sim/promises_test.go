package sim

import (
	"encoding/json"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/slot"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/verb"
)

// grace is how long after a person tampered with a Lease, or a control plane failed, the
// programs may not know it.
const grace = 60 * time.Second

// checkRequest checks a request before it has its effect.
func (w *world) checkRequest(p *program, r request) {
	a := w.agentOf(p)
	if a == nil || !r.writes() {
		return
	}
	switch r.key.Resource {
	case "pods":
		if !p.checked {
			p.checked = true
			w.checkBegin(a, "evicts pods")
		}
	case "nodes":
		var patch struct {
			Metadata struct {
				ResourceVersion string `json:"resourceVersion"`
			} `json:"metadata"`
			Spec map[string]any `json:"spec"`
		}
		_ = json.Unmarshal(r.body, &patch)
		if found := w.api.objects[r.key]; found == nil || patch.Metadata.ResourceVersion != "" && patch.Metadata.ResourceVersion != text(metadata(found.tree), "resourceVersion") {
			return // it will be refused
		}
		switch value, changes := patch.Spec["unschedulable"]; {
		case changes && value == true:
			w.checkBegin(a, "cordons")
		case changes:
			w.checkUncordon(a)
		}
	}
}

func (w *world) agentOf(p *program) *agentProgram {
	for _, a := range w.agents {
		if &a.program == p {
			return a
		}
	}
	return nil
}

// checkStart checks a verb that an agent starts.
func (w *world) checkStart(a *agentProgram, r host.Request) {
	n, given := a.node, args(&r)
	switch r.Verb {
	case verb.Stage:
		w.checkDigest(n, given, "stages")
	case verb.Kubeadm:
		w.checkBegin(a, "runs kubeadm")
		w.checkSnapshot(n)
	case verb.Snapshot:
		w.checkBegin(a, "takes a snapshot")
	case verb.Activate:
		w.checkDigest(n, given, "activates")
		if n.active != given.Version {
			w.checkBegin(a, "activates")
		}
	}
}

// checkDigest checks promise 7.
func (w *world) checkDigest(n *node, given verbArgs, what string) {
	fixed, known := w.fixed[w.upgradeUID(n)]
	if given.Version == n.active && what == "activates" {
		return // repeated
	}
	if known && fixed != given.SHA256 {
		w.broken("promise 7", "%s %s an image with digest %s, and %s was fixed at the trigger", n.name, what, given.SHA256, fixed)
	}
}

// checkSnapshot checks that kubeadm does not begin before a snapshot of etcd was taken.
func (w *world) checkSnapshot(n *node) {
	if !n.controlPlane || !w.script.Snapshot || w.snapshots[w.upgradeUID(n)] > 0 {
		return
	}
	for _, other := range w.controlPlanes() {
		if other.staticPods == w.script.To {
			return // too late for one
		}
	}
	w.broken("snapshot", "%s runs kubeadm, and no snapshot of etcd was taken", n.name)
}

// checkReboot checks a reboot that an agent asks for.
func (w *world) checkReboot(a *agentProgram) {
	n := a.node
	if v := n.busy(); v != "" {
		w.broken("promise 4", "%s reboots while %s runs", n.name, v)
	}
	if n.active == n.merged { // the reboot itself is the upgrade
		w.checkBegin(a, "reboots")
		return
	}
	w.checkOthers(n, "reboots")
}

// checkBegin checks what an agent begins: window, slot, and which other nodes are out of
// service.
func (w *world) checkBegin(a *agentProgram, what string) {
	n := a.node
	w.begins++
	live := len(w.api.log["maintenanceschedules"])
	switch at := a.sawSchedules; {
	case at < 0 && w.closed(live, w.now()):
		w.broken("promise 2", "%s %s, all windows are closed, and it did not ask", n.name, what)
	case at >= 0 && w.closed(at, a.ranAt) && w.closed(live, w.now()):
		w.broken("promise 2", "%s %s, and all windows are closed", n.name, what)
	}
	w.checkOrder(a, what)
	if w.held(n) == "" && !w.tamperedLately() {
		w.broken("promise 4", "%s %s, and holds no slot", n.name, what)
	}
	w.checkOthers(n, what)
}

// checkOrder checks that a node acts on the order that it has, and that its upgrade exists.
// What changed while its agent runs, the agent need not know.
func (w *world) checkOrder(a *agentProgram, what string) {
	nu := w.nodeUpgrade(a.node.name)
	if nu == nil || w.orderedAt[nu.Name].After(a.ranAt) || w.recreatedAt.After(a.ranAt) {
		return
	}
	state := a.steps.State().Upgrade
	if nu.Spec.Upgrade == nil || nu.Spec.Upgrade.UID != state.UID || !nu.Spec.Release.Granted() {
		w.broken("order", "%s %s for upgrade %s, and its order is for %+v with release %q", nu.Name, what, state.UID, nu.Spec.Upgrade, nu.Spec.Release)
		return
	}
	policy := get[*v1alpha1.UpgradePolicy](w.api, key{Resource: "upgradepolicies", Name: v1alpha1.PolicyName})
	if follows := policy.Status.Upgrade; follows != nil && follows.UID == state.UID {
		return
	}
	for _, u := range w.upgrades() {
		if string(u.UID) == state.UID {
			return
		}
	}
	w.broken("order", "%s %s for upgrade %s, which does not exist any more", nu.Name, what, state.UID)
}

func (w *world) tamperedLately() bool {
	for _, at := range w.tampered {
		if w.now().Sub(at) < grace {
			return true
		}
	}
	return false
}

// checkOthers checks promise 1: how many nodes are out of service with this one, and which.
func (w *world) checkOthers(n *node, what string) {
	out := 0
	healthy, members := 0, 0
	for _, other := range w.nodes {
		if other == n || other.removed {
			continue
		}
		if w.outOfService(other) {
			out++
			if n.controlPlane && other.controlPlane {
				w.broken("promise 1", "%s %s while the control plane of %s is out of service", n.name, what, other.name)
			}
		}
		if other.controlPlane {
			members++
			if other.memberUp() || w.now().Sub(other.downSince) < grace {
				healthy++
			}
		}
	}
	if out+1 > max(1, w.script.Budget) {
		w.broken("promise 1", "%s %s while %d other nodes are out of service, and there are %d slots", n.name, what, out, max(1, w.script.Budget))
	}
	if n.controlPlane && members > 0 && healthy < (members+1)/2+1 {
		w.broken("promise 1", "%s %s, and etcd loses its majority: %d of %d other members are healthy", n.name, what, healthy, members)
	}
}

// outOfService reports whether an upgrade keeps the node out of service.
func (w *world) outOfService(n *node) bool {
	if n.busy() != "" || n.shutting && n.ours {
		return true
	}
	object := w.api.objects[key{Resource: "nodes", Name: n.name}]
	return object != nil && text(metadata(object.tree), "uid") == n.uid && text(inner(metadata(object.tree), "annotations"), v1alpha1.CordonAnnotation) != ""
}

// held returns the slot that the node holds.
func (w *world) held(n *node) string {
	for _, s := range w.api.list("leases", "", func(tree) bool { return true }) {
		one, err := slot.FromLease(s.object("leases").(*coordinationv1.Lease))
		if err == nil && one.Holder == n.owner() {
			return one.Name
		}
	}
	return ""
}

func (n *node) owner() fleet.Owner { return fleet.Owner{Node: n.name, UID: n.uid} }

// checkUncordon checks a node that is about to be put back into service.
func (w *world) checkUncordon(a *agentProgram) {
	n := a.node
	step := a.steps.State()
	if v := n.busy(); v != "" {
		w.broken("verified", "%s is uncordoned while %s runs", n.name, v)
	}
	gaveUp := step.Step == v1alpha1.StepAborting && w.now().Sub(step.Since) >= 10*time.Minute
	if !n.healthy() && !gaveUp && w.now().Sub(n.changedAt) > grace {
		w.broken("verified", "%s is uncordoned in step %s: ready %t, kubelet %q, merged %q", n.name, step.Step, n.ready, n.kubelet, n.merged)
	}
}

// checkKubelet checks promise 3, and promise 7 once more, when a kubelet starts.
func (w *world) checkKubelet(n *node) {
	for _, other := range w.controlPlanes() {
		if minor(other.staticPods) < minor(n.kubelet) {
			w.broken("promise 3", "%s starts kubelet %s beside the apiserver %s of %s", n.name, n.kubelet, other.staticPods, other.name)
		}
	}
	if n.kubelet == w.script.To && n.installed[n.kubelet] != digest(1) && !w.script.has("republish") && !w.script.has("recreate upgrade") {
		w.broken("promise 7", "%s has merged an image with digest %s", n.name, n.installed[n.kubelet])
	}
}

// wrote checks a write that had its effect, and tells the story.
func (w *world) wrote(by string, k key, before, after *stored) {
	w.changed(k)
	switch k.Resource {
	case "leases":
		w.checkLease(by, k, before, after)
	case "nodes":
		w.checkNode(by, k, before, after)
	case "nodeupgrades":
		w.checkNodeUpgrade(by, k, before, after)
	case "clusterupgrades":
		w.checkUpgrade(by, before, after)
	case "pods":
		if after != nil && metadata(after.tree)["deletionTimestamp"] != nil && (before == nil || metadata(before.tree)["deletionTimestamp"] == nil) {
			w.endPod(k, text(child(after.tree, "spec"), "nodeName"))
		}
	}
}

func slotOf(s *stored) (one fleet.Slot) {
	if s != nil {
		one, _ = slot.FromLease(s.object("leases").(*coordinationv1.Lease))
	}
	return one
}

// checkLease checks promises 4 and 6 on a change of a slot.
func (w *world) checkLease(by string, k key, before, after *stored) {
	was, is := slotOf(before), slotOf(after)
	none := fleet.Owner{}
	if was.Holder != is.Holder || was.ReservedFor != is.ReservedFor {
		w.tell("%s: %s is reserved for %q and held by %q", by, k.Name, is.ReservedFor.Node, is.Holder.Node)
	}
	if by == "admin" {
		w.tampered[k.Name] = w.now()
		return
	}
	_, byAgent := strings.CutPrefix(by, "agent ")
	switch {
	case was.Holder == is.Holder:
	case was.Holder != none && is.Holder != none:
		w.broken("promise 4", "%s gives %s of %s to %s", by, k.Name, was.Holder, is.Holder)
	case is.Holder == none && byAgent:
		w.lastHolder[k.Name] = ""
		w.checkFreed(by, k.Name, was.Holder)
	case is.Holder == none:
		w.lastHolder[k.Name] = ""
		if object := w.api.objects[key{Resource: "nodes", Name: was.Holder.Node}]; object != nil && text(metadata(object.tree), "uid") == was.Holder.UID && !w.abandoned(was.Holder) {
			w.broken("promise 4", "%s frees %s, and %s still exists", by, k.Name, was.Holder)
		}
	case byAgent:
		if was.ReservedFor != is.Holder || by != "agent "+is.Holder.Node {
			w.broken("promise 4", "%s makes %s the holder of %s, which is reserved for %s", by, is.Holder, k.Name, was.ReservedFor)
		}
		w.lastHolder[k.Name] = is.Holder.String()
	case w.lastHolder[k.Name] != is.Holder.String() && !w.claims(is.Holder, k.Name):
		w.broken("promise 4", "%s gives %s to %s, which had not taken it: %q held it last", by, k.Name, is.Holder, w.lastHolder[k.Name])
	}
}

// claims reports whether the node's annotation and its order both name the slot. A kubelet
// may annotate its Node, and gets no other slot by that than the one reserved for it.
func (w *world) claims(owner fleet.Owner, slot string) bool {
	nu, object := w.nodeUpgrade(owner.Node), w.api.objects[key{Resource: "nodes", Name: owner.Node}]
	return nu != nil && object != nil && nu.Spec.Slot == slot && nu.OwnedBy(types.UID(owner.UID)) &&
		text(inner(metadata(object.tree), "annotations"), v1alpha1.SlotAnnotation) == slot
}

func (w *world) abandoned(owner fleet.Owner) bool {
	nu := w.nodeUpgrade(owner.Node)
	return nu != nil && nu.Abandoned != nil
}

// checkFreed checks a slot that its node has just freed.
func (w *world) checkFreed(by, name string, owner fleet.Owner) {
	for _, n := range w.nodes {
		if n.owner() != owner || n.removed {
			continue
		}
		if v := n.busy(); v != "" {
			w.broken("promise 4", "%s frees %s while %s runs", by, name, v)
		}
		if n.shutting && n.ours { // its agent cannot see a reboot that a person began
			w.broken("promise 4", "%s frees %s while the node reboots", by, name)
		}
		object := get[*corev1.Node](w.api, key{Resource: "nodes", Name: n.name})
		if object != nil && (object.Annotations[v1alpha1.CordonAnnotation] != "" || object.Annotations[v1alpha1.SlotAnnotation] != "") {
			w.broken("promise 4", "%s frees %s while the Node is still marked", by, name)
		}
		nu := w.nodeUpgrade(n.name)
		if nu != nil && nu.OwnedBy(object.GetUID()) && nu.Status.Step.Info().Phase == v1alpha1.PhaseStopped {
			w.broken("promise 6", "%s frees %s in step %s", by, name, nu.Status.Step)
		}
	}
}

// checkNode checks promise 5 on a change of a Node.
func (w *world) checkNode(by string, k key, before, after *stored) {
	if before == nil || after == nil {
		w.tell("%s: Node %s was created or deleted", by, k.Name)
		return
	}
	mark := v1alpha1.CordonAnnotation
	marks := func(s *stored) (unschedulable bool, ours, slot string) {
		annotations := inner(metadata(s.tree), "annotations")
		return inner(s.tree, "spec")["unschedulable"] == true, text(annotations, mark), text(annotations, v1alpha1.SlotAnnotation)
	}
	wasCordoned, wasOurs, wasSlot := marks(before)
	isCordoned, isOurs, isSlot := marks(after)
	if wasCordoned == isCordoned && wasOurs == isOurs && wasSlot == isSlot {
		return
	}
	w.tell("%s: Node %s unschedulable=%t ours=%q slot=%q", by, k.Name, isCordoned, isOurs, isSlot)
	if by == "admin" {
		return
	}
	if wasCordoned && wasOurs == "" && isOurs != "" {
		w.broken("promise 5", "%s takes the cordon of %s for its own", by, k.Name)
	}
	if w.foreign[text(metadata(after.tree), "uid")] && wasCordoned && !isCordoned {
		w.broken("promise 5", "%s removes the cordon of %s, which a person made", by, k.Name)
	}
}

// checkNodeUpgrade checks promises 6 and 8 on a change of a NodeUpgrade. It does not decode
// the object, which would take longer than all else.
func (w *world) checkNodeUpgrade(by string, k key, before, after *stored) {
	if after == nil {
		w.tell("%s: NodeUpgrade %s was deleted", by, k.Name)
		return
	}
	was := &stored{tree: tree{}}
	if before != nil {
		was = before
	}
	step := v1alpha1.Step(text(inner(after.tree, "status"), "step"))
	reason, message := conditionOf(after.tree, v1alpha1.ConditionUpToDate)
	if text(inner(was.tree, "status"), "step") != string(step) {
		w.entered(k.Name, step)
		w.tell("%s is in step %s (%s: %s)", k.Name, step, reason, message)
	}
	former, order := inner(was.tree, "spec"), inner(after.tree, "spec")
	if text(inner(former, "upgrade"), "uid") != text(inner(order, "upgrade"), "uid") || text(former, "release") != text(order, "release") {
		w.orderedAt[k.Name] = w.now()
	}
	granted := v1alpha1.Release(text(order, "release")).Granted()
	if text(former, "release") != text(order, "release") || text(former, "slot") != text(order, "slot") {
		w.tell("%s: %s has release %q and slot %q", by, k.Name, text(order, "release"), text(order, "slot"))
	}
	if strings.Contains(by, "coordinator") && granted && !v1alpha1.Release(text(former, "release")).Granted() {
		w.checkRelease(by, after.object("nodeupgrades").(*v1alpha1.NodeUpgrade))
	}
	if strings.HasPrefix(by, "agent ") && step != "" {
		working := step.Info().Phase == v1alpha1.PhaseCommitted || step.Info().Phase == v1alpha1.PhaseRevocable
		if reason == "" || message == "" && !working {
			w.broken("promise 8", "%s is in step %s with no reason (%q: %q)", k.Name, step, reason, message)
		}
	}
	hold, why := conditionOf(after.tree, v1alpha1.ConditionAdmitted)
	if strings.Contains(by, "coordinator") && hold != "" && why == "" && v1alpha1.Reason(hold).Info().Giver != v1alpha1.GivenByAgent {
		w.broken("promise 8", "%s waits with reason %s and no message", k.Name, hold)
	}
}

// inner returns the tree in a field, or an empty one.
func inner(t tree, field string) tree {
	one, _ := t[field].(tree)
	return one
}

func conditionOf(t tree, kind string) (reason, message string) {
	list, _ := inner(t, "status")["conditions"].([]any)
	for _, item := range list {
		if c := item.(tree); c["type"] == kind {
			return text(c, "reason"), text(c, "message")
		}
	}
	return "", ""
}

// checkRelease checks promise 6: a coordinator that knows of a failed node releases no other.
func (w *world) checkRelease(by string, released *v1alpha1.NodeUpgrade) {
	for _, c := range w.coordinators {
		if c == nil || c.name != by {
			continue
		}
		failed := 0
		for _, object := range c.steps.Caches().NodeUpgrades.List() {
			other := object.(*v1alpha1.NodeUpgrade)
			s := other.Status
			if other.Name == released.Name || s.Step.Info().Phase != v1alpha1.PhaseStopped || other.Abandoned != nil ||
				s.Upgrade == nil || released.Spec.Upgrade == nil || s.Upgrade.UID != released.Spec.Upgrade.UID || !w.current(other) {
				continue
			}
			failed++
			if n := w.node(other.Name); n != nil && n.controlPlane {
				failed += 1000
			}
		}
		if failed > w.script.MaxFailures {
			w.broken("promise 6", "%s releases %s, and knows that %d other nodes have failed", by, released.Name, failed)
		}
	}
}

// current reports whether the NodeUpgrade is of the Node that has its name now.
func (w *world) current(nu *v1alpha1.NodeUpgrade) bool {
	object := get[*corev1.Node](w.api, key{Resource: "nodes", Name: nu.Name})
	return object != nil && nu.OwnedBy(object.UID)
}

// checkUpgrade checks promises 7 and 8 on a change of a ClusterUpgrade.
func (w *world) checkUpgrade(by string, before, after *stored) {
	if after == nil || before == nil {
		w.recreatedAt = w.now()
		w.tell("%s: a ClusterUpgrade was created or deleted", by)
		return
	}
	was, is := before.object("clusterupgrades").(*v1alpha1.ClusterUpgrade), after.object("clusterupgrades").(*v1alpha1.ClusterUpgrade)
	condition := meta.FindStatusCondition(is.Status.Conditions, v1alpha1.ConditionSucceeded)
	if !strings.Contains(by, "coordinator") {
		return
	}
	if condition == nil || condition.Reason == "" || condition.Message == "" {
		w.broken("promise 8", "ClusterUpgrade %s gives no reason: %+v", is.Name, condition)
		return
	}
	if old := meta.FindStatusCondition(was.Status.Conditions, v1alpha1.ConditionSucceeded); old == nil || old.Reason != condition.Reason {
		w.tell("%s: ClusterUpgrade %s (%s) %s: %s", by, is.Name, is.Status.Progress, condition.Reason, condition.Message)
	}
	for _, image := range is.Status.Images {
		fixed, known := w.fixed[string(is.UID)]
		if known && fixed != image.SHA256() {
			w.broken("promise 7", "the digest of %s changed after the trigger", is.Name)
		}
		w.fixed[string(is.UID)] = image.SHA256()
	}
}

// checkState checks what must hold at every moment.
func (w *world) checkState() {
	down := 0
	for _, n := range w.nodes {
		if n.controlPlane && !n.removed && w.outOfService(n) {
			down++
		}
	}
	if down > 1 {
		w.broken("promise 1", "%d control planes are out of service", down)
	}
}

// closed reports whether all windows are closed, by the schedules as they were at an index
// of the log. The scripts' schedules have neither recurrences nor selectors.
func (w *world) closed(index int, at time.Time) bool {
	current := map[string]*stored{}
	for _, c := range w.api.log["maintenanceschedules"][:index] {
		current[c.name] = c.object
	}
	open := false
	for _, s := range current {
		if s == nil {
			continue
		}
		m := s.object("maintenanceschedules").(*v1alpha1.MaintenanceSchedule)
		for _, one := range m.Spec.MaintenanceExclusions {
			if within(one.Period, at) {
				return true
			}
		}
		for _, one := range m.Spec.MaintenanceWindows {
			if one.Recurrence != "" {
				return true // the scripts have only an invalid one
			}
			open = open || within(one.Period, at)
		}
	}
	return !open
}

func within(p v1alpha1.Period, at time.Time) bool {
	return !at.Before(p.StartTime.Time) && at.Before(p.EndTime.Time)
}
