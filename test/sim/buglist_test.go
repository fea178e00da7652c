package sim

// bug is a mistake that is put into the product's source on purpose, in a copy that only
// one build of this test sees (go build -overlay).
type bug struct {
	name  string
	edits []edit
}

// edit replaces a piece of a file, which must be there once.
type edit struct{ file, old, new string }

// bugs are what the simulator must catch.
var bugs = []bug{
	{"a rehearsal that failed holds nothing", []edit{
		{"pkg/rules/rehearsal.go", "len(rehearsal.Problems) == 0", "len(rehearsal.Problems) >= 0"},
	}},
	{"a version is blamed for a node's fault", []edit{
		{"pkg/cluster/plan/node.go", "return n.cause.Reason == v1alpha1.ReasonNodeAtFault }", "return n.cause.Reason == v1alpha1.ReasonNodeAtFault && n.Name == \"\" }"},
	}},
	{"a node is blamed for a bad version", []edit{
		{"pkg/node/guard/problem.go", "return o.Health.Kubelet != \"\" && o.Runtime != \"\"", "return o.Health.Kubelet != \"\""},
	}},
	{"an upgrade is known by its name alone", []edit{
		{"pkg/node/machine/state.go", "order.Upgrade.UID == s.Upgrade.UID", "order.Upgrade.Name == s.Upgrade.Name"},
		{"pkg/node/agent/orders.go", "case err == nil && string(upgrade.UID) == ref.UID:", "case err == nil:"},
		{"pkg/node/agent/orders.go", "!equality.Semantic.DeepEqual(now.Spec.Upgrade, seen.Upgrade) ||", "!equality.Semantic.DeepEqual(now.Spec.Upgrade.Name, seen.Upgrade.Name) ||"},
	}},
	{"a snapshot of etcd is believed from a worker", []edit{
		{"pkg/cluster/plan/controlplane.go", "range c.controlPlanes() {\n\t\ts := n.status.EtcdSnapshot\n\t\tif s == nil || n.lacksLabel() || n.spec.EtcdSnapshotPolicy != v1alpha1.EtcdSnapshotRequired ||", "range c.nodes {\n\t\ts := n.status.EtcdSnapshot\n\t\tif s == nil ||"},
	}},
	{"a mark takes a slot out of turn", []edit{
		{"pkg/rules/slot.go", "!slot || u.Abandoned != nil {", "!slot && slotAnnotation == \"\" || u.Abandoned != nil {"},
		{"pkg/rules/slot.go", "return slotAnnotation == u.Spec.Slot", "return slotAnnotation != \"\""},
		{"pkg/cluster/plan/slots.go", "name := n.spec.Slot\n\t\tlease, there", "name := n.spec.Slot\n\t\tif n.SlotAnnotation != \"\" {\n\t\t\tname = n.SlotAnnotation\n\t\t}\n\t\tlease, there"},
		{"pkg/cluster/coordinator/slots.go", "u.Spec.Slot == name && ", ""},
	}},
	{"a drain never asks the rules", []edit{
		{"pkg/node/agent/round.go", "case draining && !a.drain.roundDue(r.Now):\n\t\treturn nil\n", "case draining:\n\t\treturn nil\n"},
		{"pkg/node/machine/draining.go", "if o.Rules == nil {\n\t\tround.Do, round.Disrupt, round.Delete = DoNothing, false, false\n\t}\n", ""},
	}},
	{"a slot is freed under running work", []edit{
		{"pkg/node/machine/next.go", "if s, runs := verbRunning(s, o); runs {", "if s, runs := verbRunning(s, o); runs && s.Step == \"\" {"},
		{"pkg/node/machine/kubeadm.go", "case work.Running:\n\t\treturn s.withReason(v1alpha1.ReasonReleased, message), Action{}\n", "case withdrawn(s, o):\n\t\treturn abortWithdrawn(s, o)\n\tcase work.Running:\n\t\treturn s.withReason(v1alpha1.ReasonReleased, message), Action{}\n"},
	}},
	{"a node is taken back into service unverified", []edit{
		{"pkg/node/machine/verifying.go", "\tcase isBack(s, o):\n\t\treturn s.enter(v1alpha1.StepSettling, o), Action{}\n", "\tcase o.Now.Before(limit):\n\t\treturn s.enter(v1alpha1.StepUncordoning, o), Action{}\n"},
	}},
	{"a node leaves the watch with a dead kubelet", []edit{
		{"pkg/node/machine/verifying.go", "case ready && o.Host != nil && o.Host.KubeletProblem != \"\":", "case ready && o.Host != nil && o.Host.KubeletProblem != \"\" && pause == 0:"},
	}},
	{"the guard's watch ends before the uncordon", []edit{
		{"pkg/node/machine/verifying.go", "\tcase o.Node.Marked() || holdDue(s, o):\n\t\treturn s.enter(v1alpha1.StepUncordoning, o), Action{}\n", "\tcase s.guardWatches(o):\n\t\treturn confirm(s, o)\n\tcase o.Node.Marked() || holdDue(s, o):\n\t\treturn s.enter(v1alpha1.StepUncordoning, o), Action{}\n"},
	}},
	{"a node is uncordoned without its devices", []edit{
		{"pkg/node/machine/verifying.go", "case !isWhole(s, o):", "case !isWhole(s, o) && s.Upgrade.UID == \"\":"},
	}},
	{"a node ends its upgrade while a taint keeps pods from it", []edit{
		{"pkg/node/machine/verifying.go", "case ready && len(o.KeptOut) > 0:", "case ready && len(o.KeptOut) > 0 && pause == 0:"},
	}},
	{"a person's cordon is removed", []edit{
		{"pkg/node/agent/cordon.go", "if _, ours := node.Annotations[v1alpha1.CordonAnnotation]; ours && !setByOthers(node, cordonField) {", "{"},
	}},
	{"a person's cordon is taken for our own", []edit{
		{"pkg/node/agent/cordon.go", "if !node.Spec.Unschedulable {", "{"},
	}},
	{"the slot is freed before the cordon is removed", []edit{
		{"pkg/node/machine/aborting.go", "\tcase o.Node.Marked():\n\t\treturn s, actionOf(DoUncordon)\n\tcase attemptsExhausted(s):", "\tcase o.Slot.Held != \"\":\n\t\treturn s, actionOf(DoFree)\n\tcase o.Node.Marked():\n\t\treturn s, actionOf(DoUncordon)\n\tcase attemptsExhausted(s):"},
		{"pkg/node/agent/act.go", "case nodeOf(now).Marked():", "case now == nil:"},
	}},
	{"the slot is freed by a watch that may be stale", []edit{
		{"pkg/node/agent/act.go", "case nodeOf(now).Marked():", "case now == nil:"},
	}},
	{"another node begins after one has failed", []edit{
		{"pkg/cluster/plan/filters_cluster.go", "case s.failed != nil:", "case s.failed != nil && s.failed.Name == \"\":"},
	}},
	{"the agent does not read windows", []edit{
		{"pkg/node/agent/rules.go", "q.node.Labels, q.Now, need)", "q.node.Labels, q.WatchingSince, need)"},
	}},
	{"kubeadm runs ahead of a node's turn outside windows", []edit{
		{"pkg/node/machine/kubeadm.go", "\tif o.Rules.Holds() {\n", "\tif o.Rules.Holds() && o.Rules.Reason == \"\" {\n"},
		{"pkg/node/machine/kubeadm.go", ", o.Rules != nil && o.Rules.Holds():", ":"},
	}},
	{"the agent believes its watch about the release", []edit{
		{"pkg/node/agent/rules.go", "\t{\"the node is still released, and not abandoned\", atEachMoment, theOrder, (*question).releaseHold},\n", ""},
		{"pkg/node/agent/rules.go", "\t{\"the node still holds its slot\", atEachMoment, theSlot, (*question).slotHold},\n", ""},
	}},
	{"a lost slot is restored without reading live", []edit{
		{"pkg/cluster/coordinator/slots.go", "return u != nil && u.Spec.Slot == name && rules.TookSlot(u, mark), err", "return u != nil && mark != name+\"-\", err"},
	}},
	{"two control planes use two slots", []edit{
		{"pkg/cluster/plan/allocation.go", "return !n.oneAtATime() || name == clusterstate.ControlPlaneSlot }", "return true }"},
		{"pkg/cluster/plan/cluster.go", "limit: 1}}", "limit: 0}}"},
		{"pkg/node/machine/locking.go", "slot != clusterstate.ControlPlaneSlot && o.Host != nil", "slot == clusterstate.SlotName(-1) && o.Host != nil"},
	}},
	{"kubelets do not wait for the apiservers", []edit{
		{"pkg/cluster/plan/filters_order.go", "if s.pass1 {", "if s.pass1 && n.ControlPlane {"},
		{"pkg/cluster/plan/filters_order.go", "range s.ahead[:n.group] {", "range s.ahead[:0] {"},
		{"pkg/cluster/plan/filters_order.go", "if err == nil && !s.pass1 && !ownFirst {", "if ownFirst && false {"},
		{"pkg/node/agent/skew.go", "if o.Spec.Release == v1alpha1.ReleaseControlPlane || oneTurn {", "if true {"},
	}},
	{"the majority of etcd is not asked for", []edit{
		{"pkg/node/agent/etcd.go", "if r.Host == nil ||", "if true || r.Host == nil ||"},
		{"pkg/cluster/plan/filters_order.go", "if !n.oneAtATime() ||", "if true || !n.ControlPlane ||"},
	}},
	{"the digest is that of the source, not of the trigger", []edit{
		{"pkg/cluster/coordinator/coordinator.go", "p := c.planWithChecks(ctx, s, now)\n", "p := c.planWithChecks(ctx, s, now)\n\tfor i := range p.Nodes {\n\t\tif image := p.Nodes[i].Spec.Image; image != nil && len(s.Source.Offers) > 0 {\n\t\t\t*image = s.Source.Offers[0].Image\n\t\t}\n\t}\n"},
		{"pkg/node/agent/orders.go", "case spec.Image.Digest != fixed.Digest:", "case spec.Image.Digest == \"\":"},
	}},
	{"the status is read from a stale watch after a restart", []edit{
		{"pkg/node/agent/loop.go", "nu, err := a.Upgrades.NodeUpgrades.Get(ctx, a.Node, metav1.GetOptions{})", "nu, err := one[*v1alpha1.NodeUpgrade](a.report.nodeUpgrades), error(nil)\n\t\tif nu == nil {\n\t\t\treturn true\n\t\t}"},
	}},
	{"a failed node frees its slot", []edit{
		{"pkg/node/machine/aborting.go", "\treturn s.enter(v1alpha1.StepFailed, o).withReason(reason, message), Action{}", "\treturn s.enter(v1alpha1.StepFailed, o).withReason(reason, message), actionOf(DoFree)"},
		{"pkg/node/agent/act.go", "case nodeOf(now).Marked():", "case now == nil:"},
	}},
	{"a node that the policy selects no more goes on", []edit{
		{"pkg/cluster/plan/decide.go", "case !n.managed:\n\t\treturn clusterstate.Hold", "case !n.managed && n.Name == \"\":\n\t\treturn clusterstate.Hold"},
	}},
	{"a node is given back in the middle of an attempt", []edit{
		{"pkg/node/machine/next.go", "if step, ok := steps[s.Step]; ok {", "if step, ok := steps[s.Step]; ok && (o.Managed || s.Step.Info().Phase != v1alpha1.PhaseRevocable) {"},
		{"pkg/node/machine/waiting.go", "if !o.Managed && (!o.Host.HasFiles || !o.Node.Marked() && o.Slot.Held == \"\") {", "if !o.Managed {"},
	}},
	{"the agent does not read suspend", []edit{
		{"pkg/rules/windows.go", "if hold := Upgrade(upgrade, now); hold.Holds() {", "if hold := Upgrade(upgrade, now); hold.Holds() && hold.Reason != v1alpha1.ReasonSuspended {"},
	}},
	{"a node on hold begins", []edit{
		{"pkg/node/agent/rulesread.go", "\tq.labels = node.Labels\n", "\tq.labels = node.Annotations\n"},
		{"pkg/cluster/plan/filters_people.go", "if !n.onHold {", "if n.Name != \"\" {"},
	}},
	{"an upgrade begins unapproved", []edit{
		{"pkg/rules/people.go", "|| u.Spec.Approved.Upgrade {", "|| u.Name != \"\" {"},
	}},
	{"a group begins unapproved", []edit{
		{"pkg/cluster/plan/filters_people.go", "|| slices.Contains(c.target.Spec.Approved.Groups, g.name) {", "|| slices.Contains(c.target.Spec.Approved.Groups, g.name) || n.Name != \"\" {"},
	}},
	{"a group's limit is the whole budget", []edit{
		{"pkg/cluster/plan/allocation.go", "if own := a.cluster.groups[n.group].limit; own > 0 {", "if own := a.cluster.groups[n.group].limit; own > 0 && n.ControlPlane {"},
	}},
	{"nodes are released though the checks block", []edit{
		{"pkg/cluster/plan/filters_cluster.go", "func checksBlock(s *survey, _ *node) clusterstate.Hold {\n\tif len(s.cluster.checks.blockAll) == 0 {", "func checksBlock(s *survey, n *node) clusterstate.Hold {\n\tif len(s.cluster.checks.blockAll) == 0 || !n.ControlPlane || !s.pass1 {"},
	}},
	{"a report of the checks stays valid for hours", []edit{
		{"pkg/cluster/plan/checks.go", "freshFor = 10 * time.Minute", "freshFor = 10 * time.Hour"},
	}},
	{"an abandoned node is taken back before its agent reports", []edit{
		{"pkg/cluster/plan/decide.go", "!n.released() && n.answered && ", "!n.released() && "},
	}},
	{"two upgrades go on at once", []edit{
		{"pkg/cluster/plan/queue.go", "if n.spec.Upgrade != nil && (n.busy() || n.released()) {", "if n.Name == \"\" {"},
		{"pkg/cluster/plan/queue.go", "case t.assigned(r):\n\t\treturn 0", "case t.assigned(r) && t.Name == \"upgrade\":\n\t\treturn 3"},
		{"pkg/cluster/plan/decide.go", "case !s.cluster.specIsForTarget(n):\n\t\tmessage", "case n.Name == \"\" && !s.cluster.specIsForTarget(n):\n\t\tmessage"},
	}},
	{"an announced upgrade begins at once", []edit{
		{"pkg/rules/people.go", "if start == nil || !now.Before(start.Time) {", "if start == nil || u.Name != \"\" {"},
	}},
	{"an agent watches no slot after a restart", []edit{
		{"pkg/node/agent/slots.go", "case nu.Spec.Release.Granted() || r.node.Annotations[v1alpha1.SlotAnnotation] != \"\" || nu.Status.Slot != \"\" || !between:", "case nu.Spec.Release.Granted() && between:"},
		{"pkg/node/agent/slots.go", "case nu.Spec.Slot != \"\":", "case nu.Spec.Slot != \"\" && between:"},
	}},
	{"a node soft-reboots though its operating system asks for a reboot", []edit{
		{"pkg/node/machine/rebooting.go", "RebootRequired: o.Host.RebootRequired,", "RebootRequired: false,"},
	}},
	{"a node that does not ask is rebooted again by one Reboot", []edit{
		{"pkg/node/machine/rebooting.go", "return o.Host.BootID == from", "return from != \"\""},
		{"pkg/node/machine/rebooting.go", "s.RebootedFrom != \"\" && o.Host.BootID != s.RebootedFrom", "s.RebootedFrom != \"\" && o.Spec.FromBootID == \"\" && o.Host.BootID != s.RebootedFrom"},
		{"pkg/cluster/plan/reboot.go", "return t.Status.TriggerTime == nil || n.BootID == t.Status.BootOf(n.Name)", "return true"},
	}},
	{"kubeadm runs again though it has succeeded", []edit{
		{"pkg/node/machine/kubeadm.go", "case ended && work.OK && !kubeadmDone(o):", "case ended && work.OK && o.Spec.Version == \"\":"},
	}},
	{"a cordon that was made anew is taken for the agent's", []edit{
		{"pkg/node/agent/cordon.go", "ours && !setByOthers(node, cordonField) {", "ours && node.Name != \"\" {"},
	}},
	{"an edited Lease is not mended", []edit{
		{"pkg/cluster/plan/slots.go", "took[lease.Holder] == name {", "(took[lease.Holder] == name || lease.Holder != clusterstate.Owner{}) {"},
		{"pkg/cluster/plan/slots.go", "if !c.nodes[i].mayKeep(slot.Name) {", "if !c.nodes[i].mayKeep(slot.Name) && slot.Name == \"\" {"},
	}},
	{"nodes begin without an UpgradePolicy", []edit{
		{"pkg/rules/policy.go", "return missing\n", "return clusterstate.Hold{}\n"},
		{"pkg/node/agent/rulesread.go", "\tq.policy, err = q.config.livePolicy(ctx)\n", "\tif q.policy, err = q.config.livePolicy(ctx); q.policy == nil {\n\t\tq.policy = &v1alpha1.UpgradePolicy{Spec: v1alpha1.UpgradePolicySpec{Mode: v1alpha1.ModeManage}}\n\t}\n"},
	}},
	{"nodes are given back without an UpgradePolicy", []edit{
		{"pkg/cluster/plan/plan.go", "return n.spec.Managed\n", "return false\n"},
		{"pkg/node/verb/entries.go", "PolicyExists", "PolicyNotAsked"},
	}},
	{"an image is activated that another keyring signed", []edit{
		{"pkg/node/agent/rules.go", "q.staged.Keyring == keyring:", "q.staged.Version != \"\":"},
	}},
	{"clocks are not compared", []edit{
		{"pkg/node/agent/rules.go", "\t{\"the node's clock agrees with the API server's\", atEachMoment, source{}, (*question).clockHold},\n", ""},
		{"pkg/cluster/plan/filters_people.go", "time.Duration(n.facts.ClockAheadSeconds)*time.Second", "0"},
	}},
	{"an abandoned node reboots without its slot", []edit{
		{"pkg/node/agent/act.go", "!released.Holds() && r.Spec.Release.Granted()", "!released.Holds()"},
	}},
	{"a late control plane is upgraded like a late worker", []edit{
		{"pkg/cluster/plan/late.go", "if !c.target.forLateNodes || !n.ControlPlane || c.target.back {", "if n.Name != \"\" {"},
		{"pkg/cluster/plan/late.go", "return (!n.ControlPlane || t.back) && t.isBehind(r, n, windows)", "return t.isBehind(r, n, windows)"},
		{"pkg/cluster/plan/late.go", "if late == nil || late.back || late.hold.Holds() || r.noneOfItsOwn(late).Holds() {", "if late == nil || late.Name != \"\" {"},
	}},
	{"a failed upgrade goes on beside the one that retries it", []edit{
		{"pkg/cluster/plan/stuck.go", "if next == nil || t.Status.TriggerTime == nil {", "if next == nil || next.Name != \"\" || t.Status.TriggerTime == nil {"},
	}},
	{"a dead kubelet is believed to be Ready", []edit{
		{"pkg/node/machine/observation.go", "return o.Lease != nil && o.Now.Sub(o.Lease.RenewedAt).Abs() <= o.Lease.Lasts", "return true"},
		{"pkg/node/agent/health.go", "if r.Host.KubeletProblem != \"\" {", "if r.Host.KubeletProblem != \"\" && r.Host.Active == \"\" {"},
	}},
	{"an attempt that is aborted leaves its conditions on the Node", []edit{
		{"pkg/node/machine/conditions.go", "\tshows = conditionsIn[s.Step]\n", "\tif shows = conditionsIn[s.Step]; s.Step == v1alpha1.StepAborting || BetweenAttempts(s.Step) && s.Step != v1alpha1.StepWaiting {\n\t\treturn nil, false\n\t}\n"},
	}},
	{"a condition that a person set is removed", []edit{
		{"pkg/node/agent/nodeconditions.go", "ours := there && is.Reason == v1alpha1.NodeConditionReason", "ours := there"},
	}},
	{"a closed gate does not hold a node", []edit{
		{"pkg/cluster/plan/filters_gates.go", "case status.State == v1alpha1.GateOpen:", "case status.State != v1alpha1.GateUnknown:"},
	}},
	{"a gate that cannot be asked counts as open", []edit{
		{"pkg/cluster/plan/filters_gates.go", "case status.State == v1alpha1.GateOpen:", "case status.State != v1alpha1.GateClosed:"},
	}},
	{"an answer to an earlier leader counts", []edit{
		{"pkg/cluster/coordinator/policy.go", "\tpolicy.Status.Gates = answers\n", "\tif len(answers) > 0 {\n\t\tpolicy.Status.Gates = answers\n\t}\n"},
	}},
	{"a release stays when a gate closes", []edit{
		{"pkg/cluster/plan/filters_gates.go", "\tif n.hasSlot() {\n\t\treturn clusterstate.Hold{}", "\tif n.hasSlot() || n.spec.Release.Granted() {\n\t\treturn clusterstate.Hold{}"},
	}},
	{"an upgrade that ignores one gate ignores all", []edit{
		{"pkg/api/v1alpha1/gates.go", "return g.Name == name })", "return g.Name != \"\" })"},
	}},
	{"a node does not wait for the hook before it", []edit{
		{"pkg/cluster/plan/allocation_turns.go", "\t\ta.startHook(t, next)\n\t}\n\treturn runningHold", "\t\ta.startHook(t, next)\n\t}\n\tif t.Node != \"\" {\n\t\treturn clusterstate.Hold{}\n\t}\n\treturn runningHold"},
	}},
	{"the hook after a node runs only if the node succeeded", []edit{
		{"pkg/cluster/plan/allocation_turns.go", "if next := nextHook(t); next != nil && hasBegun(t) {", "if next := nextHook(t); next != nil && hasBegun(t) && t.Outcome != v1alpha1.TurnAborted {"},
	}},
	{"a node whose hook after it runs does not count as out of service", []edit{
		{"pkg/cluster/plan/allocation.go", "\ta.spendTurns()\n", ""},
	}},
	{"a hook whose Job was lost runs again", []edit{
		{"pkg/cluster/plan/hooks.go", "\t\tr.endHook(run, v1alpha1.HookFailed, \"JobGone\", \"its Job was deleted, and what came of it is not known\")\n", "\t\trun.JobUID = \"\"\n"},
	}},
	{"a Job is created before it is stored that its hook runs", []edit{
		{"pkg/cluster/coordinator/coordinator.go", "c.hooks.Write(ctx, d.policy, d.now)", "c.hooks.Write(ctx, d.snapshot.Policy, d.now)"},
		{"pkg/cluster/hook/keeper.go", "if uid, runs := running(policy)[run.Job]; !runs || uid != \"\" {", "if policy == nil {"},
	}},
	{"the hook after a node runs while the node may still begin", []edit{
		{"pkg/cluster/plan/allocation_turns.go", "mayBegin := n.released() || n.silent() || n.lease != nil && !n.answered;", "mayBegin := n.Name == \"\";"},
		{"pkg/cluster/plan/allocation_turns.go", "if !atWork || n.failed() || n.abandoned != nil {", "{"},
	}},
	{"the checks are not made again after a worker has failed", []edit{
		{"pkg/cluster/plan/checks.go", "a.cluster.now.Sub(k.lastReport.At) < freshFor {", "(a.cluster.now.Sub(k.lastReport.At) < freshFor || a.survey.firstFailed != nil) {"},
	}},
	{"a version that was taken back comes again", []edit{
		{"pkg/api/v1alpha1/upgradepolicy.go", "\t\tif taken.Version == version {", "\t\tif taken.Version == \"\" {"},
	}},
	{"an upgrade goes on that is being taken back", []edit{
		{"pkg/cluster/plan/rollback.go", "\tif t.takenBackBy != nil {\n\t\treturn takenBackHold", "\tif t.takenBackBy != nil && t.Name == \"\" {\n\t\treturn takenBackHold"},
		{"pkg/cluster/plan/rollback.go", "if t.takenBackBy != nil && !slices.ContainsFunc(r.nodes, atWork) {", "if t.takenBackBy != nil && len(r.nodes) == 0 && !slices.ContainsFunc(r.nodes, atWork) {"},
		{"pkg/cluster/plan/queue.go", "\tcase t.back && !stuck:\n\t\treturn -2\n", ""},
	}},
	{"kubeadm goes back, too", []edit{
		{"pkg/api/v1alpha1/upgradetype.go", "return t.HasVersion() && t != TypeRollback", "return t.HasVersion()"},
		{"pkg/cluster/plan/target.go", "return !t.versionless() && !t.back", "return !t.versionless()"},
	}},
	{"a node that was taken back alone is not put on hold", []edit{
		{"pkg/node/machine/observation.go", "return o.Spec.HoldAfter && s.Follows(o.Spec) && !o.Node.OnHold", "return false"},
	}},
	{"a kubelet goes back a minor", []edit{
		{"pkg/cluster/plan/rollback.go", "return t.back && known(t.to) && t.to.SameLine(v) && t.to.Less(v)", "return t.back && known(t.to) && t.to.Less(v)"},
		{"pkg/version/skew.go", "if !from.SameLine(to) {", "if from.Major != to.Major {"},
	}},
	{"a node begins without Cluster API's request", []edit{
		{"pkg/cluster/plan/filters_order.go", "return !t.clusterAPIDecides || n.stored.RequestedFor(t.UID)", "return true"},
		{"pkg/rules/request.go", "|| node.RequestedFor(upgrade) {", "|| node != nil {"},
	}},
	{"a request that was taken back still counts", []edit{
		{"pkg/cluster/plan/filters.go", "{node: notRequested, withdraws: true,", "{node: notRequested,"},
		{"pkg/rules/request.go", "|| node.RequestedFor(upgrade) {", "|| node != nil {"},
	}},
	{"a requested control plane leaves kubeadm out", []edit{
		{"pkg/node/machine/locking.go", "case !kubeadmDone(o):", "case !kubeadmDone(o) && !(o.Host.ControlPlane && o.Spec.Release == v1alpha1.ReleaseNode):"},
	}},
	{"an open answer of the rules counts in later reconciles", []edit{
		{"pkg/node/agent/agent.go", "\tfailuresInRow int", "\topen openRules\n\tfailuresInRow int"},
		{"pkg/node/agent/loop.go", "\tvar open openRules\n", "\topen := a.open\n\tdefer func() { a.open = open }()\n"},
		{"pkg/node/agent/round.go", "age >= 0 && age < answerCounts && ", "age < time.Minute && "},
	}},
	{"an agent's write hides newer ones", []edit{
		{"pkg/node/agent/written.go", "shown.ResourceVersion == w.before && ", ""},
	}},
	{"a gate before the upgrade is not asked", []edit{
		{"pkg/cluster/plan/filters_gates.go", "\tif !s.tookSlot {\n", "\tif !s.tookSlot && n.Name == \"\" {\n"},
	}},
	{"the hook before an upgrade is skipped", []edit{
		{"pkg/cluster/plan/allocation_turns.go", "case own == nil && (a.survey.tookSlot || target.forLateNodes):", "case own == nil && (target.Name != \"\" || target.forLateNodes):"},
	}},
	{"a node's word says that an upgrade has begun", []edit{
		{"pkg/cluster/plan/survey.go", "c.target.beganOn(n)\n", "c.target.beganOn(n) || c.target != nil && c.target.endedTurn(n)\n"},
	}},
	{"a kubelet is restarted of a node that was abandoned", []edit{
		{"pkg/node/agent/act.go", "\t\tif err := a.checkAbandoned(ctx, r); err != nil {\n\t\t\treturn err\n\t\t}\n\t\tif refused", "\t\tif refused"},
	}},
	{"a policy that is made anew forgets the turns of hooks", []edit{
		{"manifests/admission/upgradepolicy-spec.yaml", "h.state in ['Pending', 'Running']", "h.state in ['Running']"},
		{"pkg/cluster/coordinator/state.go", "\t\trecalled.Status.RememberedState = s.State.RememberedState\n", "\t\tif recalled.Status.RememberedState = s.State.RememberedState; unseen {\n\t\t\trecalled.Status.HookTurns = nil\n\t\t}\n"},
	}},
	{"a Reboot goes by what agents have looked at before", []edit{
		{"pkg/cluster/plan/status.go", " && p.cluster.unlooked(t) == nil && ", " && "},
	}},
	{"the age of a gate's answer is told by the wall clock", []edit{
		{"pkg/cluster/gate/keeper.go", "\tif byWall < 0 {\n\t\treturn byWall\n\t}\n\treturn max(byWall, now.Sub(one.at))", "\treturn byWall"},
		{"pkg/cluster/gate/keeper.go", "if one.status == nil || one.age(now) < 0 {", "if one.status == nil {"},
		{"pkg/cluster/gate/keeper.go", "\tcase age < 0:\n", "\tcase age < 0 && one.status == nil:\n"},
	}},
	{"an order counts whose NodeUpgrade was deleted", []edit{
		{"pkg/node/agent/rulesread.go", "\tq.live, err = q.config.liveOrder(ctx)\n", "\tif q.live, err = q.config.liveOrder(ctx); apierrors.IsNotFound(err) {\n\t\tq.live, err = q.order, nil\n\t}\n"},
		{"pkg/node/agent/report.go", "\tcase isVerb:\n\t\treturn entry.NeedsNoState\n", "\tcase apierrors.IsNotFound(err):\n\t\treturn true\n\tcase isVerb:\n\t\treturn entry.NeedsNoState\n"},
	}},
	{"a Job's message is stored whole", []edit{
		{"pkg/cluster/plan/hooks.go", "run.Message = shorten(job.Problem, maxHookMessage)", "run.Message = job.Problem"},
		{"pkg/cluster/plan/hooks.go", "shorten(reason, maxHookText), shorten(message, maxHookMessage)", "shorten(reason, maxHookText), message"},
	}},
	{"the reboot of an abandoned node is requested a second time", []edit{
		{"pkg/node/agent/act.go", "\tif err := a.checkAbandoned(ctx, r); err != nil {\n\t\treturn err\n\t}\n\tasked", "\tif err := a.checkAbandoned(ctx, r); err != nil && a.host.reboots.triedAt.IsZero() {\n\t\treturn err\n\t}\n\tasked"},
		{"pkg/node/machine/rebooting.go", "case ask && abandoned(s, o):", "case ask && abandoned(s, o) && o.RebootTriedAt.IsZero():"},
	}},
	{"certificates that are half renewed are not put back", []edit{
		{"pkg/node/machine/waiting.go", "if o.Host.RenewalLeft && !o.Work[verb.Renew].Running {", "if o.Host.RenewalLeft && o.Host.Merged == \"\" {"},
		{"pkg/node/machine/kubeadm.go", "case o.Host.RenewalLeft:", "case o.Host.RenewalLeft && o.Host.Merged == \"\":"},
	}},
	{"certificates are renewed without a slot", []edit{
		{"pkg/node/machine/locking.go", "case o.Slot.Held != \"\":\n\t\treturn beginAttempt(s, o)", "case o.Slot.Held != \"\", o.Spec.Type == v1alpha1.TypeCertificates:\n\t\treturn beginAttempt(s, o)"},
		{"pkg/node/machine/locking.go", "case o.Slot.Held == \"\":\n\t\ts, a := abort", "case o.Slot.Held == \"\" && o.Spec.Type != v1alpha1.TypeCertificates:\n\t\ts, a := abort"},
	}},
	{"new certificates are renewed again", []edit{
		{"pkg/cluster/plan/certificates.go", "return !t.isByCoordinator() || !rules.RenewedRecently(n.facts, t.CreationTimestamp.Time)", "return true"},
	}},
	{"two control planes renew their certificates at once", []edit{
		{"pkg/cluster/plan/allocation.go", "return !n.oneAtATime() || name == clusterstate.ControlPlaneSlot }", "return !n.oneAtATime() || a.cluster.target.certificates || name == clusterstate.ControlPlaneSlot }"},
		{"pkg/node/machine/locking.go", "slot != clusterstate.ControlPlaneSlot && o.Host != nil", "slot != clusterstate.ControlPlaneSlot && o.Spec.Type != v1alpha1.TypeCertificates && o.Host != nil"},
	}},
	{"the majority of etcd is not asked for before a reboot", []edit{
		{"pkg/node/agent/etcd.go", "if member := r.Host != nil && r.Host.OneAtATime; !member {", "if member := r.Host != nil && r.Host.OneAtATime; !member || r.Host != nil {"},
	}},
}
