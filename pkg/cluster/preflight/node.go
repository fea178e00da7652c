package preflight

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// node is a Node together with what its agent reported.
type node struct {
	*corev1.Node
	name         string
	controlPlane bool
	status       v1alpha1.NodeUpgradeStatus
	facts        *v1alpha1.NodeFacts
	kubelet      version.Version
	kubeletError error
	// abandoned reports whether a person declared that the node will not come back.
	abandoned bool
	// moves reports whether the upgrade has still to change the node, and drains
	// whether its pods have to be evicted for that.
	moves, drains bool
	drain         drainOrder
}

// sortNodes sorts the nodes by whether the upgrade concerns them: it concerns
// neither those on which it is not possible, nor those that are abandoned, nor those
// that the policy or the upgrade leaves out.
func (c *checker) sortNodes() {
	upgrades := make(map[string]*v1alpha1.NodeUpgrade, len(c.NodeUpgrades))
	for i := range c.NodeUpgrades {
		upgrades[c.NodeUpgrades[i].Name] = &c.NodeUpgrades[i]
	}
	inventories := make(map[string]*v1alpha1.NodeInventory, len(c.Inventories))
	for i := range c.Inventories {
		inventories[c.Inventories[i].Name] = &c.Inventories[i]
	}
	for i := range c.Nodes {
		n := newNode(&c.Nodes[i])
		if own := upgrades[n.name]; own != nil && own.OwnedBy(n.UID) {
			n.status, n.abandoned = own.Status, own.Abandoned != nil
		}
		if own := inventories[n.name]; own != nil && own.OwnedBy(n.UID) {
			n.facts = &own.NodeFacts
		}
		n.controlPlane = n.facts.OnControlPlane(fleet.HasControlPlaneLabel(n.Labels))
		c.all = append(c.all, n)
		os := n.Node.Status.NodeInfo.OperatingSystem
		switch {
		case !c.managed.Matches(labels.Set(n.Labels)) || !c.selected.Matches(labels.Set(n.Labels)):
			c.leftOut = append(c.leftOut, n)
		case os != "" && os != "linux" || (c.kubeadm || c.back) && n.status.LacksImage():
			c.unsupported = append(c.unsupported, n)
		case !n.abandoned:
			n.moves = c.toMove(n)
			n.drains, n.drain = n.moves && !c.restarts(n), c.drainOf(n)
			c.nodes = append(c.nodes, n)
		}
	}
	for _, list := range [][]*node{c.all, c.nodes, c.unsupported, c.leftOut} {
		slices.SortFunc(list, func(a, b *node) int { return cmp.Compare(a.name, b.name) })
	}
}

// toMove reports whether something is left to do for the node. An upgrade of type
// Reboot is for nodes that ask for one, and reboots each of them once.
func (c *checker) toMove(n *node) bool {
	switch {
	case c.back:
		return n.kubeletError == nil && c.to.Less(n.kubelet)
	case c.kubeadm:
		return !c.upToDate(n)
	}
	from := n.status.Reboot.FromBootID
	rebooted := c.isFor(n) && from != "" && n.Node.Status.NodeInfo.BootID != from
	return n.status.Reboot.Required && !rebooted
}

// isFor reports whether the node's status is about this upgrade, and not about the
// one before.
func (c *checker) isFor(n *node) bool {
	return n.status.Upgrade != nil && n.status.Upgrade.UID == string(c.Upgrade.UID)
}

// restarts reports whether the node stays in service: the method is Restart, which
// is for patches, and no mount is known that a refresh of the merged image breaks.
func (c *checker) restarts(n *node) bool {
	kind := cmp.Or(c.Upgrade.Status.Type, c.Upgrade.Spec.Type, v1alpha1.TypePatch)
	if c.strategy.Method != v1alpha1.MethodRestart || kind != v1alpha1.TypePatch || !n.kubelet.SameLine(c.to) {
		return false
	}
	decided := c.isFor(n) && n.status.Method == v1alpha1.MethodReboot
	return !decided && (n.facts == nil || len(n.facts.RefreshBlockers) == 0)
}

func newNode(n *corev1.Node) *node {
	out := &node{Node: n, name: n.Name}
	out.kubelet, out.kubeletError = version.Parse(n.Status.NodeInfo.KubeletVersion)
	return out
}

// upToDate reports whether nothing is left to do for the node.
func (c *checker) upToDate(n *node) bool { return n.kubeletAt(c.to) && !c.runsKubeadm(n) }

// runsKubeadm reports whether kubeadm upgrade has still to run on the node: on a
// worker it runs just before the kubelet is upgraded.
func (c *checker) runsKubeadm(n *node) bool {
	done := n.kubeletAt(c.to)
	if n.controlPlane {
		done = version.Reached(n.status.Versions.Kubeadm, c.to) || done && version.Reached(n.status.Versions.ControlPlane, c.to)
	}
	return c.kubeadm && !done
}

// kubeletAt reports whether the kubelet runs v or a later version.
func (n *node) kubeletAt(v version.Version) bool {
	return n.kubeletError == nil && !n.kubelet.Less(v)
}

func (n *node) ready() bool {
	return slices.ContainsFunc(n.Node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

func (n *node) object() v1alpha1.ObjectReference {
	return v1alpha1.ObjectReference{Kind: "Node", Name: n.name}
}

// controlPlanes returns the control-plane nodes that the upgrade concerns.
func (c *checker) controlPlanes() []*node {
	var list []*node
	for _, n := range c.nodes {
		if n.controlPlane {
			list = append(list, n)
		}
	}
	return list
}

// controlPlaneMoves reports whether something is left to do for one of them.
func (c *checker) controlPlaneMoves() bool {
	return slices.ContainsFunc(c.controlPlanes(), func(n *node) bool { return n.moves })
}

var diskChecks = []Entry{{
	"node-pressure", warns,
	"a node has DiskPressure, MemoryPressure or PIDPressure: its kubelet evicts pods, and no evicted pod can go there",
	"Free what the node runs out of: kubectl describe node; for disk, crictl rmi --prune removes unused images.",
}, {
	"disk-room", blocks,
	"a node lacks disk space for the sysext image, the control plane's container images, kubeadm's backups, or etcd's snapshot",
	"Free disk space on that node: crictl rmi --prune removes unused images; old backups are in /etc/kubernetes/tmp.",
}}

// Folders that an upgrade writes to.
const (
	ImagesDir     = "/opt/extensions/kubernetes"         // sysext images
	SnapshotsDir  = "/var/lib/kubectl-upgrade/snapshots" // etcd's snapshots
	BackupsDir    = "/etc/kubernetes/tmp"                // kubeadm's copies of manifests and etcd's data
	ContainersDir = "/var/lib/containerd"                // container images
)

// How many bytes an upgrade needs in them.
const (
	// sysextBytes: images of v1.34.4 and v1.35.4 were 79 MiB and 78 MiB, and
	// staging keeps 32 MiB free beside the new one.
	sysextBytes = 128 << 20
	// controlPlaneBytes: the six images that kubeadm 1.35 pulls on a control
	// plane (apiserver, controller-manager, scheduler, proxy, etcd, CoreDNS)
	// are 450 MiB unpacked, and containerd keeps them packed beside that.
	controlPlaneBytes = 640 << 20
	// workerBytes: kube-proxy and CoreDNS, 131 MiB unpacked.
	workerBytes = 192 << 20
	// walBytes: besides its database, etcd's data are write-ahead logs of 64 MB
	// each (SegmentSizeBytes in etcd's server/storage/wal), one at least.
	walBytes = 64 << 20
	// restBytes: manifests, logs, certificates.
	restBytes = 64 << 20
)

// needs returns how many bytes the upgrade has still to write on the node, by folder.
func (c *checker) needs(n *node) map[string]int64 {
	if !c.kubeadm || !n.moves {
		return nil
	}
	needs := map[string]int64{}
	to := c.to.String()
	if n.status.Versions.Staged != to && !n.kubeletAt(c.to) {
		needs[ImagesDir] = sysextBytes
	}
	if !c.runsKubeadm(n) {
		return needs
	}
	if !n.controlPlane {
		needs[ContainersDir] = workerBytes
		return needs
	}
	if n.status.Versions.Pulled != to {
		needs[ContainersDir] = controlPlaneBytes
	}
	needs[BackupsDir] = restBytes
	if etcd := n.facts.Etcd; etcd != nil {
		needs[BackupsDir] += etcd.DatabaseBytes + walBytes
		if c.strategy.EtcdSnapshot != v1alpha1.EtcdSnapshotSkip && c.Upgrade.Status.EtcdSnapshot == nil {
			needs[SnapshotsDir] = etcd.DatabaseBytes + restBytes
		}
	}
	return needs
}

// tolerance is by how much the free bytes of one file system may differ between
// two measurements: programs write logs meanwhile.
const tolerance = 16 << 20

// room is what is free on one file system, and what is needed of it by folder.
type room struct {
	v1alpha1.DiskFacts
	needs map[string]int64
}

// on reports whether the folder lies on the same file system, as far as is known.
func (r *room) on(disk v1alpha1.DiskFacts) bool {
	if r.Device != "" && disk.Device != "" {
		return r.Device == disk.Device
	}
	difference := r.FreeBytes - disk.FreeBytes
	return max(difference, -difference) <= tolerance
}

// checkDisks compares what is needed with what is free. Pressure on any node counts,
// also where the upgrade changes nothing, because evicted pods may go there.
func (c *checker) checkDisks() {
	for _, n := range c.all {
		for _, condition := range n.Node.Status.Conditions {
			if strings.HasSuffix(string(condition.Type), "Pressure") && condition.Status == corev1.ConditionTrue {
				c.add(v1alpha1.Finding{ID: "node-pressure", Object: n.object(), Message: fmt.Sprintf("Node %s has %s.", n.name, condition.Type)})
			}
		}
	}
	for _, n := range c.nodes {
		if n.facts == nil {
			continue
		}
		needs := c.needs(n)
		var rooms []*room
		for _, disk := range n.facts.Disks {
			need := needs[purpose(disk.Path)]
			if need == 0 {
				continue
			}
			i := slices.IndexFunc(rooms, func(r *room) bool { return r.on(disk) })
			if i < 0 {
				i = len(rooms)
				rooms = append(rooms, &room{DiskFacts: disk, needs: map[string]int64{}})
			}
			rooms[i].needs[disk.Path] = need
			rooms[i].FreeBytes = min(rooms[i].FreeBytes, disk.FreeBytes)
		}
		for _, r := range rooms {
			c.checkRoom(n, r.FreeBytes, r.needs)
		}
	}
}

func (c *checker) checkRoom(n *node, free int64, needs map[string]int64) {
	var total int64
	for _, need := range needs {
		total += need
	}
	if free >= total {
		return
	}
	c.onNode(n, v1alpha1.Finding{
		ID: "disk-room",
		Message: fmt.Sprintf("Node %s has %d MiB free for %s, and the upgrade needs %d MiB.",
			n.name, free>>20, strings.Join(slices.Sorted(maps.Keys(needs)), ", "), total>>20),
	})
}

// purposes are the folders above, by the paths that agents may report for them: a
// parent, where the folder does not exist yet. An upgrade writes nothing to etcd's
// own folder.
var purposes = map[string]string{
	"/opt/extensions": ImagesDir, SnapshotsDir: SnapshotsDir, "/etc/kubernetes": BackupsDir, "/var/lib/etcd": "",
}

// purpose returns which of the folders a path stands for. Any other path is the
// folder in which containerd is configured to keep its images.
func purpose(path string) string {
	for prefix, dir := range purposes {
		if path == prefix || strings.HasPrefix(path, prefix+"/") {
			return dir
		}
	}
	return ContainersDir
}
