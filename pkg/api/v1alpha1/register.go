package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group is the API group of the kinds, and the prefix of annotations and labels.
const Group = "kubectl-upgrade.dev"

// GroupVersion is the version that this package describes.
var GroupVersion = schema.GroupVersion{Group: Group, Version: "v1alpha1"}

// OutputVersion is the apiVersion of what kubectl upgrade writes with -o json and -o yaml, and of saved
// snapshots. No API server has these kinds.
const OutputVersion = "output." + Group + "/v1alpha1"

// The resources, as the API server's paths name them.
var (
	MaintenanceSchedules = GroupVersion.WithResource("maintenanceschedules")
	UpgradePolicies      = GroupVersion.WithResource("upgradepolicies")
	ClusterUpgrades      = GroupVersion.WithResource("clusterupgrades")
	NodeUpgrades         = GroupVersion.WithResource("nodeupgrades")
	UpgradeRecords       = GroupVersion.WithResource("upgraderecords")
	NodeInventories      = GroupVersion.WithResource("nodeinventories")
	CoordinatorStates    = GroupVersion.WithResource("coordinatorstates")
)

// AddToScheme registers our kinds in scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&MaintenanceSchedule{}, &MaintenanceScheduleList{},
		&UpgradePolicy{}, &UpgradePolicyList{},
		&ClusterUpgrade{}, &ClusterUpgradeList{},
		&NodeUpgrade{}, &NodeUpgradeList{},
		&UpgradeRecord{}, &UpgradeRecordList{},
		&NodeInventory{}, &NodeInventoryList{},
		&CoordinatorState{}, &CoordinatorStateList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
