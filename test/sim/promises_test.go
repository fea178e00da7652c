package sim

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// grace is how long after a control plane failed the programs may not know it.
const grace = 60 * time.Second

// askedBefore is how long before a reboot its agent asked etcd at most.
const askedBefore = 10 * time.Second

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
			w.checkServes(a, "evicts pods")
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
		if _, changes := patch.Spec["unschedulable"]; changes {
			w.checkEverManaged(a.node, "is cordoned or uncordoned")
		}
		switch value, changes := patch.Spec["unschedulable"]; {
		case changes && value == true:
			w.checkServes(a, "cordons")
			w.checkBegin(a, "cordons")
		case changes:
			w.checkUncordon(a)
		}
	}
}

// checkStart checks a verb that an agent starts.
func (w *world) checkStart(a *agentProgram, r verb.Request) {
	n, given := a.node, args(&r)
	switch r.Verb {
	case verb.Facts, verb.Etcd, verb.PutBack: // what was half renewed is put back on each node, managed or not
	case verb.Uninstall:
		w.checkGivenBack(a)
	default:
		w.checkManaged(a, "runs "+string(r.Verb))
		w.checkLeft(a, "runs "+string(r.Verb))
	}
	if n.packages && !slices.Contains([]verb.Verb{verb.Facts, verb.Etcd, verb.Uninstall, verb.Renew, verb.PutBack}, r.Verb) {
		w.broken("packages", "%s runs %s, and its Kubernetes comes from packages", n.name, r.Verb)
	}
	switch r.Verb {
	case verb.Stage:
		w.checkDigest(n, given, "stages")
		w.checkPolicy(a, "stages an image")
	case verb.Pull:
		w.checkPolicy(a, "pulls container images")
	case verb.Kubeadm:
		if n.ahead = a.steps.State().Step == v1alpha1.StepKubeadmAhead; n.ahead {
			w.checkAhead(a)
			return
		}
		w.checkBegin(a, "runs kubeadm")
		w.checkSnapshot(n, given.Version)
	case verb.Renew:
		w.checkRenew(a)
	case verb.Snapshot:
		w.checkBegin(a, "takes a snapshot")
		n.snapshotFor = w.upgradeUID(n) // its NodeUpgrade may be deleted before the end
	case verb.Restart:
		w.checkServes(a, "restarts its kubelet")
		w.checkRestart(a)
	case verb.Activate:
		w.checkServes(a, "activates")
		w.checkDigest(n, given, "activates")
		if n.active != given.Version {
			w.checkBegin(a, "activates")
		}
	}
}

// checkReboot checks a reboot that an agent asks for.
func (w *world) checkReboot(a *agentProgram) {
	n := a.node
	w.checkServes(a, "reboots")
	w.checkAbandonedReboot(a)
	w.checkNeedsReboot(a)
	w.checkLink(a)
	if v := n.busy(); v != "" {
		w.broken("promise 4", "%s reboots while %s runs", n.name, v)
	}
	entered := w.since["step "+n.name]
	// An agent that first asks within RebootWithin of the last check may be refused until RebootWithin later.
	again := a.steps.State().Step == v1alpha1.StepRebooting && entered.Before(a.ranAt) && w.now().Sub(entered) <= 2*machine.RebootWithin
	if n.active == n.merged && !again { // the reboot itself is the upgrade
		w.checkBegin(a, "reboots")
		return
	}
	if !w.givenUp(n) { // that is checkAbandonedReboot's
		w.checkOthers(n, "reboots")
	}
}

// wrote checks a write that had its effect, and notes it in the story.
func (w *world) wrote(by string, k key, before, after *stored) {
	w.changed(k)
	if k.Resource != "jobs" {
		w.wroteAt = w.now()
	}
	w.writes = append(w.writes, access{by, k.Resource})
	switch k.Resource {
	case "leases":
		w.checkLease(by, k, before, after)
	case "nodes":
		w.checkNode(by, k, before, after)
		w.checkConditions(by, before, after)
	case "nodeupgrades":
		w.checkNodeUpgrade(by, k, before, after)
	case "clusterupgrades":
		w.checkUpgrade(by, before, after)
	case "upgradepolicies":
		w.notePolicy(by, before, after)
		w.checkBlamed(by, before, after)
	case "jobs":
		w.wroteJob(k, before, after)
	case "pods":
		if after != nil && metadata(after.tree)["deletionTimestamp"] != nil && (before == nil || metadata(before.tree)["deletionTimestamp"] == nil) {
			w.endPod(k, text(child(after.tree, "spec"), "nodeName"))
		}
	}
}

// checkState checks what must hold at every moment.
func (w *world) checkState() {
	down := 0
	for _, n := range w.nodes {
		if n.controlPlane && !n.removed && w.outOfService(n) && !w.givenUp(n) {
			down++
		}
	}
	if down > 1 {
		w.broken("promise 1", "%d control planes are out of service", down)
	}
}
