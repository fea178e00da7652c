// Package plan decides which node may do what now, and says of every other one
// why it waits.
//
// It promises, for any snapshot of the cluster:
//
//   - Never more nodes are let go than the budget has room for, counting those
//     that are NotReady; never two control-plane nodes; none whose absence would
//     cost etcd its quorum.
//   - No node begins outside its windows or inside an exclusion, or when it is
//     not expected to be done before they close; nor beside another program that
//     may reboot nodes.
//   - No kubelet gets newer than an apiserver; no minor is skipped; nothing goes
//     back.
//   - No node begins before preflight has a report for how far the upgrade is, or in
//     spite of what it found; and no node takes the last ready backend of a webhook
//     along that requests wait for.
//   - A node that failed stops all others, but for as many workers as
//     strategy.maxFailures lets fail.
//   - A node that people hold back, or that they leave out, does not begin.
//   - A node that waits has one reason code and one sentence, and an instant where
//     one is known.
//
// Decide is pure: the same snapshot and the same instant give the same plan, and
// its input is left as it was. `kubectl upgrade plan`, the coordinator and the
// simulator all run it, so what is shown is what happens. It has these parts, each
// built from those before it and not changed afterwards:
//
//	reading     the snapshot sorted out (reading.go, node.go)
//	queue       which upgrade is active, and its trigger (queue*.go, trigger*.go)
//	cluster     nodes, groups, order and budget for what is asked (cluster.go, survey.go)
//	filters     one file for each reason not to begin, in one table (filters.go)
//	allocation  the only place where slots, budget and backends are spent
//	verdicts    what follows for each node (decide.go)
//	plan        orders, statuses and records (spec.go, status.go, record.go)
//
// Predict makes one cluster from another as time goes on, and decides for each
// (forecast*.go). The agent asks Gate, HoldGate, ManagerGate and EtcdGate again,
// which are the filters themselves.
package plan
