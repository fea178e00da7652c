// Package v1alpha1 holds the kinds of kubectl-upgrade. All are cluster-scoped.
//
// Four kinds have one job each: MaintenanceSchedule says when, UpgradePolicy
// what applies without asking, ClusterUpgrade what is asked for, and NodeUpgrade
// is one node's order and progress. Two more hold data that programs write and
// people read: UpgradeRecord, how each node of an ended upgrade went, and
// NodeInventory, what the checks have to know of a node.
//
// It promises that everything another program may rely on is defined here and
// nowhere else: fields and their limits, condition types, reason codes, steps,
// and the annotations, labels and names that agent and coordinator share. It
// holds values only: no client, no clock.
//
// +kubebuilder:object:generate=true
// +groupName=kubectl-upgrade.dev
package v1alpha1

//go:generate go run ../../internal/apidoc
