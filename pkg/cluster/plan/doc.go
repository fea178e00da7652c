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
//     downgraded, but that a Rollback takes kubelets back to a former patch of their minor.
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
// parts, each built from those before it and not changed afterwards, but the allocation, which the
// verdicts use up:
//
//	reading     the snapshot in the planner's types
//	queue       the upgrades that have not ended, the active one first
//	target      the upgrade that nodes are planned for, and its trigger
//	turns       the hooks around nodes and upgrades, as they are now: which run next (hooks.go, turns.go)
//	cluster     the nodes, their groups and sequence, the budget, the preflight report, windows,
//	            measured durations, and a summary of all nodes
//	filters     why a node may not begin, in one table (filters.go)
//	allocation  the claims, the only place where slots, budget and backends are spent, and where
//	            turns begin and end, in a copy (allocation_turns.go)
//	verdicts    the decision for each node, and why a release is withdrawn (decide.go)
//	plan        what to write: NodeUpgrade.spec, the upgrades' statuses, records, Leases, and what
//	            to create
//
// Predict simulates the upgrade: it decides for one cluster after another as time
// goes on. Rules that the agent asks too stand in pkg/rules.
package plan
