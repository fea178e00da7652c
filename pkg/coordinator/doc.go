// Package coordinator carries plans out: it reads the cluster, has plan.Decide make
// a plan, and writes what the plan says into our objects and the slots. It decides
// nothing itself. The UpgradePolicy named cluster is its configuration, and takes
// effect without a restart.
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
//   - What is as it should be is not written again: its own writes wake it once,
//     and then it is quiet. While a check blocks, it makes the checks again every
//     half minute, and writes down when.
package coordinator
