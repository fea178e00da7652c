// Package v1alpha1 holds the three kinds that people and programs of
// kubectl-upgrade share: MaintenanceSchedule (when), ClusterUpgrade (what, and
// its record) and NodeUpgrade (one node's part in it). All are cluster-scoped.
//
// It promises that everything another program may rely on stands here and
// nowhere else: fields and their limits, condition types, reason codes, and the
// annotations and names that agent and coordinator agree on. It holds values
// only: no client, no clock.
//
// +kubebuilder:object:generate=true
// +groupName=kubectl-upgrade.dev
package v1alpha1

//go:generate go run ../../internal/apidoc
