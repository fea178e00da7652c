// Package coordinator carries out plans: it reads the cluster, calls plan.Decide, and
// writes the plan into our objects and the slots. It decides nothing itself. The
// UpgradePolicy named cluster is its configuration, and takes effect without a restart.
//
// It promises:
//
//   - It never writes a Node, and does no work on one: that is its agent's.
//   - A slot is reserved before its node is released, and a release is withdrawn
//     before its reservation.
//   - An upgrade that has ended has its UpgradeRecords.
//   - Every write can be repeated. A coordinator that dies half-way, or two at
//     once, break no promise of the planner: what must be exclusive is a
//     compare-and-swap on a Lease.
//   - What is up to date is not written again: its own writes trigger one more plan,
//     and then no other. While a check blocks, preflight runs again every
//     half minute, which updates preflightTime.
package coordinator
