package plan

import (
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/preflight"
)

// Snapshot is the cluster as it was read: everything that Decide looks at.
type Snapshot struct {
	Nodes        []Node                         `json:"nodes"`
	NodeUpgrades []v1alpha1.NodeUpgrade         `json:"nodeUpgrades"`
	Upgrades     []v1alpha1.ClusterUpgrade      `json:"upgrades"`
	Schedules    []v1alpha1.MaintenanceSchedule `json:"schedules"`
	Slots        []Slot                         `json:"slots"`
	APIServers   []StaticPod                    `json:"apiServers"`
	Etcd         []StaticPod                    `json:"etcd"`
	Source       Source                         `json:"source"`
	// RebootManagers are other programs that may reboot nodes now.
	RebootManagers []RebootManager `json:"rebootManagers,omitempty"`
	// Webhooks are those that requests wait for.
	Webhooks []preflight.Webhook `json:"webhooks,omitempty"`
	// Preflight is what preflight found when it ran last. Nil: it did not.
	Preflight *Preflight `json:"preflight,omitempty"`
	// PreflightProblem is why preflight could not run when it was to run last.
	PreflightProblem string `json:"preflightProblem,omitempty"`
	// Strategy is for the upgrades that the planner creates by itself.
	Strategy v1alpha1.Strategy `json:"strategy,omitzero"`
}

// Node is what counts of a Node.
type Node struct {
	Name   string            `json:"name"`
	UID    string            `json:"uid"`
	Labels map[string]string `json:"labels,omitempty"`
	// ControlPlane is whether it bears kubeadm's label for that.
	ControlPlane bool `json:"controlPlane,omitempty"`
	// OS is "linux" or another one, which is never upgraded.
	OS string `json:"os,omitempty"`
	// Architecture as systemd names it: x86-64 or arm64.
	Architecture string `json:"architecture,omitempty"`
	Ready        bool   `json:"ready,omitempty"`
	// Kubelet is the version that runs, such as v1.34.3.
	Kubelet string `json:"kubelet,omitempty"`
	// Cordoned is whether somebody else cordoned it. It goes like any other,
	// and that cordon stays.
	Cordoned bool `json:"cordoned,omitempty"`
	// Slot is the mark of a node that is out of service by our doing.
	Slot string `json:"slot,omitempty"`
}

// Owner is the node as slots know it.
func (n Node) Owner() Owner { return Owner{Node: n.Name, UID: n.UID} }

// Slot is one Lease that lets a node be out of service. The zero Owner is
// nobody.
type Slot struct {
	Name        string `json:"name"`
	ReservedFor Owner  `json:"reservedFor,omitzero"`
	Holder      Owner  `json:"holder,omitzero"`
	// Unreadable is a Lease whose owner cannot be known: it counts as taken.
	Unreadable bool `json:"unreadable,omitempty"`
}

func (s Slot) free() bool {
	return !s.Unreadable && s.ReservedFor == Owner{} && s.Holder == Owner{}
}

// StaticPod is an apiserver or an etcd member that kubeadm put on a node.
type StaticPod struct {
	Node string `json:"node"`
	// Version is the tag of its image. Empty where that is not a version.
	Version string `json:"version,omitempty"`
	Ready   bool   `json:"ready,omitempty"`
}

// RebootManager is another program that may reboot nodes now, such as kured or
// FLUO. While there is one, nobody begins: two of them on one node end badly.
type RebootManager struct {
	// Name of the program.
	Name string `json:"name"`
	// Message says in one sentence what it is at, and how to make it stop.
	Message string `json:"message"`
	// Passes is whether it stops by itself, as when kured's lock is released.
	Passes bool `json:"passes,omitempty"`
}

// Source is what the index of images said when it was last read.
type Source struct {
	Offers []Offer `json:"offers,omitempty"`
	// Trouble is why the index is missing or incomplete: SourceUnavailable,
	// SourceEmpty or SourceInvalid. What Offers lists is good in spite of it.
	Trouble Hold `json:"trouble,omitzero"`
}

// Offer is an image of one version for one architecture.
type Offer struct {
	Version string         `json:"version"`
	Image   v1alpha1.Image `json:"image"`
}

// Architectures are those for which the version is on offer. Nil: that is not
// known, as the index is missing or incomplete.
func (s Source) Architectures(version string) []string {
	if s.Trouble.Reason != "" {
		return nil
	}
	list := []string{}
	for _, image := range s.images(version) {
		list = append(list, image.Architecture)
	}
	return list
}

// images are the offered images of that version, one for each architecture.
func (s Source) images(version string) []v1alpha1.Image {
	var images []v1alpha1.Image
	for _, offer := range s.Offers {
		if offer.Version == version {
			images = append(images, offer.Image)
		}
	}
	return images
}
