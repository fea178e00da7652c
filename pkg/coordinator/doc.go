// Package coordinator carries plans out: it reads the cluster, lets plan.Decide
// decide, and writes what the plan says into NodeUpgrades, ClusterUpgrades,
// MaintenanceSchedules and slots. It decides nothing itself.
//
// It promises:
//
//   - It never writes a Node, and does no work on one: that is its agent's.
//   - A slot is reserved before its node is released, and a node is called back
//     before its reservation is withdrawn.
//   - Every write can be repeated. A coordinator that dies half-way, or two at
//     once, break no promise of the planner: what must be exclusive is a
//     compare-and-swap on a Lease.
//   - What is as it should be is not written again: its own writes wake it once,
//     and then it is quiet. While a check blocks it looks every half minute, and
//     writes down when.
package coordinator
