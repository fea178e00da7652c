package snapshot

import "k8s.io/client-go/tools/cache"

// Caches are the stores from which a Reader takes snapshots, but for those of webhooks,
// DaemonSets and agents' pods.
type Caches struct {
	Nodes, Pods, Leases                                  cache.Store
	Policies, Schedules, Upgrades, NodeUpgrades, Records cache.Store
	Inventories                                          cache.Store
}

// Caches returns the stores that the watches fill, for a caller that fills them itself.
func (r *Reader) Caches() Caches {
	return Caches{
		Nodes: r.nodes.GetStore(), Pods: r.pods.GetStore(), Leases: r.leases.GetStore(),
		Policies: r.policies.GetStore(), Schedules: r.schedules.GetStore(), Upgrades: r.upgrades.GetStore(),
		NodeUpgrades: r.nodeUpgrades.GetStore(), Records: r.records.GetStore(), Inventories: r.inventories.GetStore(),
	}
}
