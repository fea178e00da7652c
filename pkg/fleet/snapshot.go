// Package fleet describes the cluster as it was read: nodes, slots, apiservers,
// etcd, images on offer, and our own objects.
//
// It promises plain values: no client, no clock, no decision. Package snapshot reads them
// from a cluster, package plan decides based on them, and `kubectl upgrade plan --snapshot`
// reads them from a file.
package fleet

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
)

// Snapshot is the planner's whole input.
type Snapshot struct {
	Nodes        []Node                         `json:"nodes"`
	NodeUpgrades []v1alpha1.NodeUpgrade         `json:"nodeUpgrades"`
	Inventories  []v1alpha1.NodeInventory       `json:"inventories,omitempty"`
	Upgrades     []v1alpha1.ClusterUpgrade      `json:"upgrades"`
	Records      []v1alpha1.UpgradeRecord       `json:"records,omitempty"`
	Schedules    []v1alpha1.MaintenanceSchedule `json:"schedules"`
	// Policy is the UpgradePolicy named cluster. Nil: there is none yet, and the
	// defaults apply.
	Policy     *v1alpha1.UpgradePolicy `json:"policy,omitempty"`
	Slots      []Slot                  `json:"slots"`
	APIServers []StaticPod             `json:"apiServers"`
	Etcd       []StaticPod             `json:"etcd"`
	// Controllers are kube-controller-manager and kube-scheduler. Only whether they are Ready
	// counts.
	Controllers []StaticPod `json:"controllers,omitempty"`
	Source      Source      `json:"source"`
	// ClockAhead is by how much the coordinator's clock is ahead of the API server's. Zero: by
	// less than kube.ClockLimit, or it is not compared.
	ClockAhead time.Duration `json:"clockAhead,omitempty"`
	// RebootManagers are other programs that may reboot nodes now.
	RebootManagers []preflight.RebootManager `json:"rebootManagers,omitempty"`
	// Webhooks are the admission webhooks that can block requests.
	Webhooks []preflight.Webhook `json:"webhooks,omitempty"`
	// Preflight is the last report of preflight. Nil: there is none.
	Preflight *Preflight `json:"preflight,omitempty"`
	// PreflightProblem is why the last preflight run failed.
	PreflightProblem string `json:"preflightProblem,omitempty"`
}

// Preflight is the report of the last preflight run for an upgrade.
type Preflight struct {
	Upgrade v1alpha1.UpgradeReference `json:"upgrade"`
	// Key is the PreflightKey of the plan that requested the report: how far the
	// upgrade was.
	Key      string             `json:"key"`
	At       time.Time          `json:"at"`
	Findings []v1alpha1.Finding `json:"findings,omitempty"`
}
