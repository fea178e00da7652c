package cli

import (
	"cmp"
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// requireNames returns an error for an object without a name. No API server has one, and where
// objects refer to each other an empty name means none.
func requireNames(shot clusterstate.Snapshot) error {
	return cmp.Or(
		requireNamesOf("nodes", shot.Nodes, func(n clusterstate.Node) string { return n.Name }),
		requireNamesOf("nodeUpgrades", shot.NodeUpgrades, func(u v1alpha1.NodeUpgrade) string { return u.Name }),
		requireNamesOf("inventories", shot.Inventories, func(i v1alpha1.NodeInventory) string { return i.Name }),
		requireNamesOf("upgrades", shot.Upgrades, func(u v1alpha1.ClusterUpgrade) string { return u.Name }),
		requireNamesOf("records", shot.Records, func(r v1alpha1.UpgradeRecord) string { return r.Name }),
		requireNamesOf("schedules", shot.Schedules, func(s v1alpha1.MaintenanceSchedule) string { return s.Name }),
		requireNamesOf("slots", shot.Slots, func(s clusterstate.Slot) string { return s.Name }),
	)
}

func requireNamesOf[T any](field string, list []T, name func(T) string) error {
	for i, one := range list {
		if name(one) == "" {
			return fmt.Errorf("%s[%d] has no name: what the API server answered was changed by something else", field, i)
		}
	}
	return nil
}
