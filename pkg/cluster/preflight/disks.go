package preflight

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

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
		if c.strategy.EtcdSnapshotPolicy != v1alpha1.EtcdSnapshotSkip && c.Upgrade.Status.EtcdSnapshot == nil {
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
// parent, where the folder does not exist yet.
var purposes = map[string]string{"/opt/extensions": ImagesDir, SnapshotsDir: SnapshotsDir, "/etc/kubernetes": BackupsDir, "/var/lib/etcd": ""}

// purpose returns which of the folders a path stands for. An upgrade writes nothing to the
// folder member of etcd's data, wherever it is. Any other path is the folder in which
// containerd is configured to keep its images.
func purpose(path string) string {
	if strings.HasSuffix(path, "/member") {
		return ""
	}
	for prefix, dir := range purposes {
		if path == prefix || strings.HasPrefix(path, prefix+"/") {
			return dir
		}
	}
	return ContainersDir
}
