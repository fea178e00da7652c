package sim

import (
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// The hooks of stories with hooks. All start the same CronJob.
const (
	prepareHook = "prepare" // before the upgrade
	setHook     = "set"     // before each node
	collectHook = "collect" // after a node has failed
	clearHook   = "clear"   // after each node
	reportHook  = "report"  // after the upgrade
)

// hookTimeout is how long each Job may take.
const hookTimeout = time.Minute

// hooked is what hooks have done.
type hooked struct {
	created map[string]bool   // names of Jobs
	set     map[string]string // Jobs of the hook set without a Job of the hook clear since, by the node's UID
	clears  map[string]string // Jobs of the hook clear that have not ended, by the node's UID
	passed  map[string]bool   // Jobs after which the node may begin
	// prepared are the upgrades for which the hook prepare has begun, by UID.
	prepared map[string]bool
	ends     map[string]string // how the next Job of a hook ends: fails or hangs
}

func newHooked() hooked {
	return hooked{created: map[string]bool{}, set: map[string]string{}, clears: map[string]string{}, passed: map[string]bool{}, ends: map[string]string{}, prepared: map[string]bool{}}
}

// newHooks returns the hooks of the UpgradePolicy. Those whose bit says so hold no other node after they have failed.
func (s script) newHooks() []any {
	one := func(i int, name string, when v1alpha1.HookPoint) tree {
		policy := v1alpha1.HookHold
		if s.HooksContinue>>i&1 == 1 {
			policy = v1alpha1.HookContinue
		}
		return tree{"name": name, "when": string(when), "cronJobName": "any", "timeoutSeconds": hookTimeout.Seconds(), "failurePolicy": string(policy)}
	}
	ofNodes := []any{one(1, setHook, v1alpha1.BeforeNode), one(2, collectHook, v1alpha1.NodeFailed), one(3, clearHook, v1alpha1.AfterNode)}
	if s.NodeHooks {
		return ofNodes
	}
	return append(ofNodes, one(0, prepareHook, v1alpha1.BeforeUpgrade), one(4, reportHook, v1alpha1.AfterUpgrade))
}

// anyHooks gives the policy hooks in one seed of four. Jobs fail, hang and are lost, their CronJob is
// not there, and the hooks are taken away and added again.
func anyHooks(s *script) {
	r := rand.New(rand.NewPCG(s.Seed, 13))
	if s.Hooks = r.IntN(4) == 0; !s.Hooks {
		return
	}
	s.HooksContinue = r.IntN(32)
	for range r.IntN(6) {
		f := fault{
			At: early(r.Float64(), s.Lasts), Kind: []string{"job fails", "job fails", "job hangs", "lose jobs", "delete cron job", "remove hooks"}[r.IntN(6)],
			Who: []string{prepareHook, setHook, setHook, collectHook, clearHook, clearHook, reportHook}[r.IntN(7)], For: time.Duration(15+r.IntN(240)) * time.Second,
		}
		if r.IntN(2) == 0 {
			f.Step = []v1alpha1.Step{v1alpha1.StepStaging, v1alpha1.StepWaiting, v1alpha1.StepLocking, v1alpha1.StepDraining, v1alpha1.StepUnlocking, v1alpha1.StepAborting, v1alpha1.StepFailed}[r.IntN(7)]
		}
		s.Faults = append(s.Faults, f)
	}
}

// injectHook has Jobs fail, hang or be lost.
func (w *world) injectHook(f fault) {
	switch f.Kind {
	case "job fails", "job hangs":
		w.hooked.ends[f.Who] = f.Kind
	case "lose jobs":
		for _, run := range w.hookRuns() {
			if run.State == v1alpha1.HookRunning && run.JobUID != "" { // its finalizer kept it before
				w.api.remove("admin", jobKey(run.Job))
				maps.DeleteFunc(w.hooked.clears, func(_, job string) bool { return job == run.Job }) // its pods are gone
			}
		}
	case "delete cron job":
		w.api.remove("admin", cronJobKey)
		w.until(f, w.createCronJob)
	case "remove hooks":
		w.since["no hooks"] = w.now()
		w.editPolicy(func(spec tree) { delete(spec, "hooks") })
		w.until(f, w.addHooks)
	}
}

func jobKey(name string) key { return key{"jobs", v1alpha1.HooksNamespace, name} }

var cronJobKey = key{"cronjobs", v1alpha1.HooksNamespace, "any"}

func (w *world) createCronJob() {
	if !w.script.Hooks || w.api.objects[cronJobKey] != nil {
		return
	}
	pod := tree{"spec": tree{"restartPolicy": "Never", "containers": []any{tree{"name": "c", "image": "c:1"}}}}
	w.api.put("admin", cronJobKey, tree{"apiVersion": "batch/v1", "kind": "CronJob", "spec": tree{
		"suspend": true, "schedule": "0 0 1 1 *", "jobTemplate": tree{"spec": tree{"template": pod}},
	}})
}

// addHooks gives the policy its hooks.
func (w *world) addHooks() {
	w.since["hooks"] = w.now()
	w.editPolicy(func(spec tree) { spec["hooks"] = w.script.newHooks() })
}

// endHookFaults has all Jobs succeed, and no failed hook hold nodes.
func (w *world) endHookFaults() {
	if !w.script.Hooks {
		return
	}
	clear(w.hooked.ends)
	w.createCronJob()
	w.script.HooksContinue = 31
	w.addHooks()
}

// hookRuns returns the hooks of the turns that are stored.
func (w *world) hookRuns() (list []v1alpha1.HookRun) {
	if policy := w.livePolicy(); policy != nil {
		for _, t := range policy.Status.HookTurns {
			list = append(list, t.Hooks...)
		}
	}
	return list
}

// turnOf returns the stored turn with the hook that has this Job, and the hook.
func (w *world) turnOf(job string) (*v1alpha1.HookTurn, *v1alpha1.HookRun) {
	policy := w.livePolicy()
	if policy == nil {
		return nil, nil
	}
	for i := range policy.Status.HookTurns {
		t := &policy.Status.HookTurns[i]
		for j := range t.Hooks {
			if t.Hooks[j].Job == job {
				return t, &t.Hooks[j]
			}
		}
	}
	return nil, nil
}

// wroteJob checks a Job that was created, and ends it later.
func (w *world) wroteJob(k key, before, after *stored) {
	if before != nil || after == nil {
		return
	}
	if w.hooked.created[k.Name] {
		w.broken("hook", "Job %s is created a second time", k.Name)
	}
	w.hooked.created[k.Name] = true
	t, run := w.turnOf(k.Name)
	if t == nil || run.State != v1alpha1.HookRunning {
		w.broken("hook", "Job %s is created, and it is not stored that its hook runs: %+v", k.Name, run)
		return
	}
	w.note("Job %s of hook %s begins, for %s", k.Name, run.Name, t.Node)
	switch run.Name {
	case prepareHook:
		w.hooked.prepared[t.Upgrade.UID] = true
	case setHook:
		w.checkSet(t, run)
		w.hooked.set[t.NodeUID] = run.Job
	case clearHook:
		w.checkClear(t)
		delete(w.hooked.set, t.NodeUID)
		w.hooked.clears[t.NodeUID] = run.Job
	}
	takes, fails := time.Duration(500+w.noise(40000))*time.Millisecond, false
	switch w.hooked.ends[run.Name] {
	case "job fails":
		fails = true
	case "job hangs":
		takes, fails = hookTimeout, true
	}
	delete(w.hooked.ends, run.Name)
	w.endJob(k, t.NodeUID, min(takes, hookTimeout), fails)
}

// checkSet checks that what the hook set has set is taken away before it sets that again, and that it
// does so on no more nodes than may be out of service.
func (w *world) checkSet(t *v1alpha1.HookTurn, run *v1alpha1.HookRun) {
	h := &w.hooked
	if was := h.set[t.NodeUID]; was != "" && !w.givesUpHooks() {
		w.broken("hook", "hook %s runs for %s (%s), and hook %s has not run since %s", run.Name, t.Node, run.Job, clearHook, was)
	}
	others, limit := map[string]bool{}, w.allowed()
	for _, uids := range []map[string]string{h.set, h.clears} {
		for uid := range uids {
			if uid != t.NodeUID {
				others[uid] = true
			}
		}
	}
	if w.renewals[t.Upgrade.UID] { // it waits for no worker
		limit = 1
		for _, n := range w.nodes {
			if !n.controlPlane {
				delete(others, n.uid)
			}
		}
	}
	if len(others)+1 > limit && !w.givesUpHooks() {
		w.broken("hook", "hook %s runs for %s while those after %d other nodes have not ended, and there are %d slots", run.Name, t.Node, len(others), limit)
	}
}

// checkClear checks that the hook clear does not run while its node is at work.
func (w *world) checkClear(t *v1alpha1.HookTurn) {
	n := w.node(t.Node)
	if given, ever := w.since["given "+t.NodeUID]; ever && !given.Before(w.since["took "+t.NodeUID]) {
		return // a person gave it its slot, and it is at work for that
	}
	if n == nil || n.uid != t.NodeUID || !slices.Contains([]v1alpha1.HookOutcome{v1alpha1.TurnSucceeded, v1alpha1.TurnAborted}, t.Outcome) {
		return
	}
	if nu := w.nodeUpgrade(n.name); n.busy() != "" || nu != nil && nu.Abandoned == nil && nu.Status.Step.Info().Phase == v1alpha1.PhaseCommitted {
		w.broken("hook", "hook %s runs for %s (%s), which is in step %s and runs %q", clearHook, n.name, t.Outcome, nu.Status.Step, n.busy())
	}
}

// endJob ends a Job, as its controller does, and deletes it later.
func (w *world) endJob(k key, uid string, in time.Duration, fails bool) {
	w.after(in, "end of "+k.Name, func() {
		if !w.apiUp() {
			w.endJob(k, uid, 5*time.Second, fails)
			return
		}
		condition := tree{"type": "Complete", "status": "True", "lastTransitionTime": w.now().UTC().Format(time.RFC3339)}
		if fails {
			condition["type"] = "Failed"
			condition["reason"], condition["message"] = "BackoffLimitExceeded", w.failedJob()
		}
		w.note("Job %s ends, failed: %t", k.Name, fails)
		if w.hooked.clears[uid] == k.Name {
			delete(w.hooked.clears, uid)
		}
		w.hooked.passed[k.Name] = !fails || w.script.HooksContinue>>1&1 == 1
		w.edit(k, func(t tree) { t["status"] = tree{"conditions": []any{condition}} })
		w.after(time.Duration(w.noise(600))*time.Second, "delete "+k.Name, func() {
			if w.api.objects[k] != nil {
				_ = w.api.deleteObject("ttl controller", k)
			}
		})
	})
}

// checkHooks checks that the hook before a node has ended when the node takes its slot, if it was
// released by a plan that knew the hooks.
func (w *world) checkHooks(a *agentProgram) {
	n := a.node
	nu := w.nodeUpgrade(n.name)
	if !w.script.Hooks || nu == nil || w.livePolicy() == nil || w.livePolicy().Spec.Hooks == nil {
		return
	}
	for _, since := range []string{"hooks", "policy", "no hooks", "no policy"} {
		if !w.specChangedAt[n.name].After(w.since[since].Add(grace)) {
			return
		}
	}
	w.checkPrepared(a)
	continues := w.script.HooksContinue>>1&1 == 1
	switch job := w.hooked.set[n.uid]; {
	case job == "":
		if !w.refusedJob(n) {
			w.broken("hook", "%s takes a slot, and hook %s has not run", n.name, setHook)
		}
	case !w.hooked.passed[job] && w.api.objects[jobKey(job)] != nil && (!continues || !w.isOverdue(job) && !w.script.has("set coordinators' clock")):
		w.broken("hook", "%s takes a slot, and hook %s has not ended (%s)", n.name, setHook, job)
	}
}

// isOverdue reports whether a Job has had its time, and a minute more, and has not ended, as while the API
// server was away. It counts as failed.
func (w *world) isOverdue(job string) bool {
	created, err := time.Parse(time.RFC3339, text(metadata(w.api.objects[jobKey(job)].tree), "creationTimestamp"))
	return err == nil && w.now().Sub(created) > hookTimeout+time.Minute
}

// refusedJob reports whether the Job of the hook set could not be created, and that holds no node.
func (w *world) refusedJob(n *node) bool {
	return slices.ContainsFunc(w.livePolicy().Status.HookTurns, func(t v1alpha1.HookTurn) bool {
		return t.NodeUID == n.uid && slices.ContainsFunc(t.Hooks, func(run v1alpha1.HookRun) bool {
			return run.Name == setHook && run.State == v1alpha1.HookFailed && run.JobUID == ""
		})
	})
}

// givesUpHooks reports whether a hook may be given up: the policy has it no more, and it cannot be started.
func (w *world) givesUpHooks() bool {
	return w.script.has("remove hooks") && w.script.has("delete cron job")
}

// checkHooksEnd checks that nothing stays set.
func (w *world) checkHooksEnd() {
	if w.givesUpHooks() {
		return
	}
	for uid, job := range w.hooked.set {
		w.broken("hook", "what hook %s has set (%s of node %s) is not taken away in the end: %+v", setHook, job, uid, w.livePolicy().Status.HookTurns)
	}
}

// hooksEnded reports whether no turn is left but those of upgrades that have not ended.
func (w *world) hooksEnded() bool {
	policy := w.livePolicy()
	return policy != nil && !slices.ContainsFunc(policy.Status.HookTurns, func(t v1alpha1.HookTurn) bool { return t.Node != "" || t.Outcome != "" })
}
