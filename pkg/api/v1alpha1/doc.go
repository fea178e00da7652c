// Package v1alpha1 holds the kinds of kubectl-upgrade. All are cluster-scoped.
//
// Four kinds control upgrades: MaintenanceSchedule says when nodes may be upgraded,
// UpgradePolicy is the configuration, ClusterUpgrade requests an upgrade, and
// NodeUpgrade is one node's order and progress. Two more hold data that programs write
// and people read: UpgradeRecord is the result of an ended upgrade, and NodeInventory
// is what the checks need to know about a node.
//
// It promises that everything that another program may rely on is defined here only:
// fields and their limits, condition types, reason codes, steps, and the annotations,
// labels and names that agent and coordinator share. It holds values only: no client,
// no clock.
//
// +kubebuilder:object:generate=true
// +groupName=kubectl-upgrade.dev
package v1alpha1
