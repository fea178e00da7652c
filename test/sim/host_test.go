package sim

import (
	"context"
	"encoding/json"
	"os"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// hostOf is a node's systemd, as one instance of its agent reaches it.
type hostOf struct {
	*node
	agent *agentProgram
}

// verbArgs are the arguments of all verbs.
type verbArgs struct {
	Version, URL, SHA256, Upgrade, Method, Command, Keyring string
	GuardWithin                                             int64
	Back                                                    bool
}

func args(r *verb.Request) (a verbArgs) {
	_ = json.Unmarshal(r.Args, &a)
	return a
}

// takes is how long each verb takes, before the random part.
var takes = map[verb.Verb]time.Duration{
	verb.Facts: 100 * time.Millisecond, verb.Etcd: 200 * time.Millisecond, verb.Disarm: 500 * time.Millisecond,
	verb.Stage: 8 * time.Second, verb.Pull: 6 * time.Second, verb.Snapshot: 4 * time.Second,
	verb.Kubeadm: 30 * time.Second, verb.Activate: 2 * time.Second, verb.Restart: 4 * time.Second, verb.Confirm: 500 * time.Millisecond,
	verb.Uninstall: time.Second, verb.Renew: 20 * time.Second, verb.PutBack: time.Second,
}

// Start starts a verb, as host.Client does.
func (h hostOf) Start(_ context.Context, r verb.Request, _ verb.Options) error {
	switch {
	case h.agent.dead():
		return errDead
	case !h.on || h.shutting:
		return host.Fail(v1alpha1.ReasonHostUnreachable, "the bus is unreachable")
	}
	n := h.node
	if _, runs := n.units[r.Verb]; runs {
		return nil
	}
	delete(n.results, r.Verb)
	r.RequestedAt = n.now()
	n.requests[r.Verb] = &r
	n.w.checkStart(h.agent, r)
	duration := takes[r.Verb]
	if r.Verb != verb.Facts && r.Verb != verb.Etcd {
		duration += time.Duration(n.w.noise(int(duration/time.Millisecond))) * time.Millisecond
	}
	if r.Verb == verb.Renew {
		duration += n.beginRenewal()
	}
	ends := n.w.now().Add(duration)
	n.units[r.Verb] = ends
	boot := n.boots
	n.w.after(duration, string(r.Verb)+" on "+n.name, func() {
		if n.on && n.boots == boot && n.units[r.Verb].Equal(ends) {
			n.end(r)
		}
	})
	return nil
}

// end ends a verb, and has its effect.
func (n *node) end(r verb.Request) {
	delete(n.units, r.Verb)
	result := &verb.Result{Verb: r.Verb, Key: r.Key, BootID: n.bootID(), StartedAt: r.RequestedAt, FinishedAt: n.now(), OK: true}
	n.results[r.Verb] = result
	fail := func(reason v1alpha1.Reason, message string) {
		result.OK, result.Reason, result.Message = false, reason, message
	}
	if n.losesRequest(string(r.Verb)) {
		n.failing[r.Verb]++
	}
	entry, _ := verb.Lookup(r.Verb)
	if n.failing[r.Verb] > 0 {
		n.failing[r.Verb]--
		fail(entry.Failed, string(r.Verb)+" failed, as the script says")
	} else if tooLong := result.FinishedAt.Sub(result.StartedAt); entry.Verb == verb.Renew && tooLong > entry.Timeout {
		fail(entry.Failed, "it was stopped by its time limit")
	} else {
		n.effect(r, args(&r), result, fail)
	}
	if r.Verb == verb.Renew {
		result.Output = n.endRenewal(r, result.OK)
	}
	if r.Verb != verb.Facts && r.Verb != verb.Etcd {
		n.w.note("%s on %s has ended (ok: %t %s)", r.Verb, n.name, result.OK, result.Message)
	}
	n.w.wakeAgent(n)
}

func (n *node) effect(r verb.Request, a verbArgs, result *verb.Result, fail func(v1alpha1.Reason, string)) {
	switch r.Verb {
	case verb.Facts:
		result.Output, _ = json.Marshal(n.facts())
		n.factsAt, n.oddSeen = n.w.now(), n.odd && !n.packages
		n.askUpdateEngine()
	case verb.Etcd:
		result.Output, _ = json.Marshal(verb.EtcdOutput{Etcd: n.etcd()})
	case verb.Snapshot:
		n.w.snapshots[n.snapshotFor]++
		result.Output, _ = json.Marshal(verb.SnapshotOutput{Path: "/snapshots/1", SHA256: digest(7), TakenAt: n.now()})
	case verb.Stage:
		if n.w.digestOf(a.Version) != a.SHA256 {
			fail(v1alpha1.ReasonHashMismatch, "the source has another image")
			return
		}
		n.installed[a.Version], n.keyrings[a.Version] = a.SHA256, a.Keyring
	case verb.Kubeadm:
		if older(a.Version, n.staticPods) {
			n.w.broken("promise 3", "kubeadm of %s takes the static pods %s of %s back", a.Version, n.staticPods, n.name)
		}
		n.kubeadm, n.kubeadms = a.Version, n.kubeadms+1
		n.w.checkKubeadmAgain(n)
		if n.controlPlane {
			if n.staticPods != a.Version {
				n.certificates.issued = n.w.now() // of the components whose manifests it changes
			}
			n.staticPods = a.Version
			n.w.pods(n)
		}
	case verb.PutBack:
		n.putBack()
	case verb.Activate:
		if n.installed[a.Version] != a.SHA256 {
			fail(v1alpha1.ReasonHashMismatch, "the image on the disk has another digest")
			return
		}
		n.armGuard(a)
		if n.active = a.Version; a.Back {
			n.kubeadm = "" // its files are those of the former version
		}
	case verb.Restart:
		if n.broken[a.Version] == imageNoMerge || n.odd {
			fail(v1alpha1.ReasonRestartFailed, "the image cannot be merged")
			return
		}
		n.merged = a.Version
		n.startGuard()
		n.startKubelet()
	case verb.Confirm:
		if n.armed && n.rollback != nil && n.rollback.Upgrade == n.guardRecord.Upgrade && n.rollback.To == n.guardRecord.To {
			fail(v1alpha1.ReasonRolledBack, "the guard returns the node")
			return
		}
		if n.kubelet == "" {
			fail(v1alpha1.ReasonUnhealthy, "the kubelet does not run")
			return
		}
		n.w.checkWatchEnds(n)
		n.armed, n.guards = false, false
	case verb.Uninstall:
		if v := n.busy(); v != "" {
			fail(v1alpha1.ReasonHostUnreachable, string(v)+" is running")
			return
		}
		n.uninstall()
	}
}

// uninstall removes what the verbs keep on the node. Images stay.
func (n *node) uninstall() {
	n.hasFiles, n.armed, n.guards, n.guardRecord, n.rollback, n.kubeadm = false, false, false, nil, nil, ""
	n.certificates.renewed = nil
	clear(n.keyrings)
	for v := range n.requests {
		if v != verb.Facts && v != verb.Etcd && v != verb.Uninstall { // their results are not on the disk
			delete(n.units, v)
			delete(n.requests, v)
			delete(n.results, v)
		}
	}
}

// Last is host.Client's.
func (h hostOf) Last(_ context.Context, v verb.Verb) (running bool, last *verb.Result, err error) {
	if h.agent.dead() {
		return false, nil, errDead
	}
	if _, runs := h.units[v]; runs {
		return true, nil, nil
	}
	request := h.requests[v]
	if request == nil || h.results[v] != nil {
		return false, h.results[v], nil
	}
	entry, _ := verb.Lookup(v)
	return false, &verb.Result{
		Verb: v, Key: request.Key, StartedAt: request.RequestedAt, FinishedAt: request.RequestedAt,
		Reason: entry.Failed, Message: "the node lost power",
	}, nil
}

// Reboot is logind's.
func (h hostOf) Reboot(context.Context) error {
	if h.agent.dead() {
		return errDead
	}
	if !h.shutting { // else it asks again for what has begun
		h.w.checkReboot(h.agent)
	}
	if !h.losesRequest("reboot") {
		h.shutdown(true, "its agent asks for it")
	}
	return nil
}

// IsStopping is systemd's SystemState.
func (h hostOf) IsStopping(context.Context) (bool, error) {
	if h.agent.dead() {
		return false, errDead
	}
	return h.shutting, nil
}

// What only Agent.Run needs.

func (h hostOf) Changes(context.Context) (<-chan host.Change, error) { return nil, errDead }
func (h hostOf) LastRequest(v verb.Verb) (*verb.Request, error)      { return h.requests[v], nil }
func (h hostOf) Open(string) (*os.File, error)                       { return nil, os.ErrNotExist }

// UpdateEngine is the status of Flatcar's update_engine.
func (h hostOf) UpdateEngine(context.Context) (status string, err error) {
	if h.updateEngine {
		return host.UpdateEngineNeedReboot, nil
	}
	return "UPDATE_STATUS_IDLE", nil
}
