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
//   - Nobody begins before preflight has a report for how far the upgrade is, or in
//     spite of what it found; and nobody takes the last ready backend of a webhook
//     along that requests wait for.
//   - A node that failed stops all others.
//   - Whoever waits has one reason code and one sentence, and an instant where
//     one is known.
//
// Decide is pure: the same snapshot and the same instant give the same plan, and
// its input is left as it was. `kubectl upgrade plan`, the coordinator and the
// simulator all run it, so what is shown is what happens. Predict runs it again
// and again, as time goes on.
package plan
