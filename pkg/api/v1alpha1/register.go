package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group is the API group of all our kinds, and the prefix of our annotations.
const Group = "kubectl-upgrade.dev"

// GroupVersion is the version that this package describes.
var GroupVersion = schema.GroupVersion{Group: Group, Version: "v1alpha1"}

// The resources as they stand in the API server's paths.
var (
	MaintenanceSchedules = GroupVersion.WithResource("maintenanceschedules")
	ClusterUpgrades      = GroupVersion.WithResource("clusterupgrades")
	NodeUpgrades         = GroupVersion.WithResource("nodeupgrades")
)

// AddToScheme makes a scheme know our kinds.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&MaintenanceSchedule{}, &MaintenanceScheduleList{},
		&ClusterUpgrade{}, &ClusterUpgradeList{},
		&NodeUpgrade{}, &NodeUpgradeList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
