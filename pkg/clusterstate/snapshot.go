package clusterstate

import (
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Snapshot is the planner's whole input.
type Snapshot struct {
	Nodes        []Node                         `json:"nodes"`
	NodeUpgrades []v1alpha1.NodeUpgrade         `json:"nodeUpgrades"`
	Inventories  []v1alpha1.NodeInventory       `json:"inventories,omitempty"`
	Upgrades     []v1alpha1.ClusterUpgrade      `json:"upgrades"`
	Records      []v1alpha1.UpgradeRecord       `json:"records,omitempty"`
	Schedules    []v1alpha1.MaintenanceSchedule `json:"schedules"`
	// Deleted are upgrades that were deleted before they had ended, as they were last, until they have records. Only
	// the coordinator knows.
	Deleted []v1alpha1.ClusterUpgrade `json:"-"`
	// Policy is the UpgradePolicy named cluster. Nil: there is none yet, and the
	// defaults apply.
	Policy *v1alpha1.UpgradePolicy `json:"policy,omitempty"`
	// State is what the coordinator remembers. Nil: nothing yet, or it was not read.
	State *v1alpha1.CoordinatorState `json:"-"`
	Slots []Slot                     `json:"slots"`
	// KeptUntil is until when the slots of nodes are kept for them whose Node objects were deleted while their machines
	// were out of service. Only the coordinator knows.
	KeptUntil  map[Owner]time.Time `json:"-"`
	APIServers []StaticPod         `json:"apiServers"`
	Etcd       []StaticPod         `json:"etcd"`
	// Controllers are kube-controller-manager and kube-scheduler. Only whether they are Ready
	// counts.
	Controllers []StaticPod `json:"controllers,omitempty"`
	Source      Source      `json:"source"`
	// ClockAhead is by how much the coordinator's clock is ahead of the API server's. Zero: by
	// less than kube.ClockLimit, or it is not compared.
	ClockAhead time.Duration `json:"clockAhead,omitempty"`
	// RebootManagers are other programs that may reboot nodes now.
	RebootManagers []RebootManager `json:"rebootManagers,omitempty"`
	// Webhooks are the admission webhooks that can block requests.
	Webhooks []Webhook `json:"webhooks,omitempty"`
	// HookJobs are the Jobs of hooks, by name. Nil: they were not read.
	HookJobs map[string]HookJob `json:"hookJobs,omitempty"`
	// Preflight is the last report of preflight. Nil: there is none.
	Preflight *Preflight `json:"preflight,omitempty"`
	// PreflightProblem is why the last preflight run failed.
	PreflightProblem string `json:"preflightProblem,omitempty"`

	// NodesUnread and PolicyUnread report what the person for whom it was read may not read:
	// what agents report stands in for the Nodes.
	NodesUnread  bool `json:"-"`
	PolicyUnread bool `json:"-"`
	// Programs are shown to people; no plan uses them.
	Programs Programs `json:"-"`
}

// Upgrade returns the ClusterUpgrade with that name. Nil: there is none.
func (s Snapshot) Upgrade(name string) *v1alpha1.ClusterUpgrade {
	for i := range s.Upgrades {
		if s.Upgrades[i].Name == name {
			return &s.Upgrades[i]
		}
	}
	return nil
}

// Programs tell whether the coordinator and the agents run.
type Programs struct {
	// At is when they were read.
	At time.Time
	// CoordinatorRenewed is when the leader renewed its Lease; zero: no coordinator has run
	// yet. Nil: that may not be read.
	CoordinatorRenewed *time.Time
	// CoordinatorWaits is why a pod of the coordinator does not run, in the words of the scheduler or of its container's
	// runtime; empty: all do, or that is not known.
	CoordinatorWaits string
	// Agents are the agents' pods. Nil: they may not be read.
	Agents []AgentPod
	// AgentRefused is why the API server refused a new pod of an agent; empty: it did not lately, or that is not known.
	AgentRefused string
}

// AgentPod is the pod of an agent.
type AgentPod struct {
	Node  string
	Ready bool
	Since time.Time // when it became Ready, or not Ready
	// Waiting is why its container does not run, such as CrashLoopBackOff; empty: it does.
	Waiting string
	// Last is what its container said when it ended last, or how it ended; empty: that is not known.
	Last string
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

// Source is the index of images as it was last read.
type Source struct {
	Offers []Offer `json:"offers,omitempty"`
	// Problem is why the index is missing or incomplete: SourceUnavailable, SourceEmpty
	// or SourceInvalid. Offers are valid even so.
	Problem Hold `json:"problem,omitzero"`
	// Signed is when the index was signed; zero: it need not be.
	Signed time.Time `json:"signed,omitzero"`
}

// Offer is an image of one version for one architecture.
type Offer struct {
	Version string         `json:"version"`
	Image   v1alpha1.Image `json:"image"`
}

// Architectures returns the architectures for which the version is on offer. Nil: that
// is not known, because the index is missing or incomplete.
func (s Source) Architectures(version string) []string {
	if s.Problem.Reason != "" {
		return nil
	}
	list := []string{}
	for _, image := range s.Images(version) {
		list = append(list, string(image.Architecture))
	}
	return list
}

// Images returns the offered images of that version, one for each architecture.
func (s Source) Images(version string) []v1alpha1.Image {
	var images []v1alpha1.Image
	for _, offer := range s.Offers {
		if offer.Version == version {
			images = append(images, offer.Image)
		}
	}
	return images
}

// RebootManager is another program that may reboot nodes, such as kured or FLUO.
type RebootManager struct {
	// Name of the program.
	Name string `json:"name"`
	// Message is one sentence on what it does, and how to stop it.
	Message string `json:"message"`
	// Active reports whether it may reboot a node now: kured with its lock held, FLUO
	// whenever it runs. While one is, no node begins, because two such programs may
	// reboot the same node.
	Active bool `json:"active,omitempty"`
	// Nodes are those that kured holds its lock for. Empty: that is not known, or it may
	// reboot any node.
	Nodes []string `json:"nodes,omitempty"`
	// DaemonSet that runs it, as namespace/name. Empty: not known.
	DaemonSet string `json:"daemonSet,omitempty"`
	// Since is when kured took its lock. Nil: that is not known.
	Since *time.Time `json:"since,omitempty"`
	// Passes reports whether it stops by itself, as when kured's lock is released.
	Passes bool `json:"passes,omitempty"`
}

// Webhook is an admission webhook that runs in the cluster. Without it, the API server
// refuses the requests that the webhook reviews.
type Webhook struct {
	Kind          string `json:"kind"`          // ValidatingWebhookConfiguration or MutatingWebhookConfiguration
	Configuration string `json:"configuration"` // its name
	Name          string `json:"name"`          // the webhook's in it
	Namespace     string `json:"namespace"`     // its Service's
	Service       string `json:"service"`
	// Nodes that have a ready backend of it, each once, sorted. An empty name is
	// a backend that runs on no node of this cluster.
	Nodes []string `json:"nodes,omitempty"`
}

// String returns the webhook's name, and its Service's, for people.
func (w Webhook) String() string {
	return fmt.Sprintf("%s (Service %s/%s)", w.Name, w.Namespace, w.Service)
}

// HookJob is the Job of a hook.
type HookJob struct {
	UID string `json:"uid"`
	// Ended reports whether it succeeded or failed for good.
	Ended     bool `json:"ended,omitempty"`
	Succeeded bool `json:"succeeded,omitempty"`
	// Reason and Message are why it failed.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Deleted reports whether it was deleted before it ended.
	Deleted bool `json:"deleted,omitempty"`
	// Problem is why it could not be created. It has no UID then.
	Problem string `json:"problem,omitempty"`
	// Refused reports whether a person has to act before it can be created.
	Refused bool `json:"refused,omitempty"`
}
