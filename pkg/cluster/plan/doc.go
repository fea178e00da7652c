// Package plan decides which node may do what now, and why each other node waits.
//
// It promises, for any snapshot of the cluster:
//
//   - Never more nodes are released than the budget allows, counting those that
//     are NotReady; never two control-plane nodes; none without which etcd would
//     lose its quorum.
//   - No node begins outside its windows or inside an exclusion, or when it is
//     not expected to be done before they close; nor while another program may
//     reboot nodes.
//   - No kubelet becomes newer than an apiserver; no minor is skipped; nothing is
//     downgraded.
//   - No node begins before preflight has a current report, or while that blocks
//     it; and none takes the last ready backend of a webhook that can block
//     requests out of service.
//   - A node that failed stops all others, except that strategy.maxFailures
//     workers may fail.
//   - A node that a person put on hold or left out does not begin.
//   - A node that waits has one reason code and one sentence, and the time at
//     which the reason ends, if that is known.
//
// Decide is pure: the same snapshot and the same instant give the same plan, and
// its input is not changed. `kubectl upgrade plan`, the coordinator and the tests'
// simulator (sim_test.go) all run it, so what is shown is what happens. It has these
// parts, each built from those before it and not changed afterwards:
//
//	reading     the snapshot in the planner's types: reading.go, node.go, versions.go,
//	            policy.go
//	queue       the upgrades that have not ended, the active one first: queue.go,
//	            queuechoice.go, queueorder.go, stuck.go, retry.go,
//	            superseded.go
//	target      the upgrade that nodes are planned for, and its trigger: target.go,
//	            trigger.go, triggerskew.go, triggertype.go, apiservers.go
//	cluster     the nodes, their groups and sequence, and the budget: cluster.go,
//	            nodestate.go, group.go, order.go, and a summary of all nodes: survey.go
//	its parts   pass 1 and who takes the snapshot of etcd: pass1.go, etcdsnapshot.go;
//	            the preflight report: checks.go, findings.go; windows: windows.go,
//	            openings.go; webhooks: webhooks.go; measured durations: durations.go,
//	            samples.go, recordsamples.go
//	filters     why a node may not begin, in one table: filters.go, filter_*.go,
//	            writefailed.go
//	allocation  the claims, the only place where slots, budget and backends are spent:
//	            allocation.go
//	verdicts    the decision for each node: decide.go; why a release is withdrawn:
//	            withdraw.go; nodes that a person abandoned: abandoned.go
//	plan        what to write: plan.go, planner.go, wake.go; NodeUpgrade.spec: spec.go;
//	            the upgrades' statuses: status.go, summary.go, counts.go; records:
//	            record.go, sofar.go; Leases: slots.go; what to create: automatic.go, patch.go,
//	            late.go, reboot.go
//
// Predict simulates the upgrade: it decides for one cluster after another as time
// goes on (predict.go, prediction.go, predictionstart.go, predictionnext.go). The agent
// calls Gate (gate.go), HoldLabelGate, ManagerGate and EtcdGate, which are the filters
// themselves.
package plan
