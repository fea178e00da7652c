package plan_test

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
)

// agent does one step on a node as a real agent does: it asks the gate itself, takes
// its slot before it begins and frees it last.
func (s *sim) agent(n *clusterstate.Node) {
	nodeUpgrade := s.nodeUpgrade(n.Name, n.UID)
	spec, status := nodeUpgrade.Spec, &nodeUpgrade.Status
	defer func() { status.ObservedGeneration = nodeUpgrade.Generation }()
	if n.OS == "windows" {
		return
	}
	if status.Step == v1alpha1.StepFailed || status.Step == v1alpha1.StepRolledBack {
		if !sameUpgrade(spec.Upgrade, status.Upgrade) {
			status.Step = v1alpha1.StepAborting
		}
		return
	}
	switch step := status.Step; step {
	case "", v1alpha1.StepIdle, v1alpha1.StepUnsupported, v1alpha1.StepStaging, v1alpha1.StepWaiting:
		s.stageOrBegin(n, spec, status)
	case v1alpha1.StepLocking:
		s.lock(n, spec, status)
	case v1alpha1.StepSnapshotting, v1alpha1.StepKubeadm, v1alpha1.StepCordoning, v1alpha1.StepDraining:
		if !spec.Release.Granted() {
			status.Step = v1alpha1.StepAborting
			return
		}
		s.work(n, spec, status)
	case v1alpha1.StepLastCheck:
		if !spec.Release.Granted() || s.closed(n, spec, 0) {
			status.Step = v1alpha1.StepAborting
			return
		}
		lastCheck(n, spec, status)
	case v1alpha1.StepAborting:
		n.SlotAnnotation = ""
		s.free(n)
		status.Step = v1alpha1.StepWaiting
	case v1alpha1.StepActivating, v1alpha1.StepRebooting:
		if !spec.Release.Granted() && s.held(n) == "" {
			status.Step = v1alpha1.StepAborting // another node holds its slot
			return
		}
		s.finish(n, spec, status)
	default:
		s.finish(n, spec, status)
	}
}

// stageOrBegin stages the requested image, and begins when the node is released.
func (s *sim) stageOrBegin(n *clusterstate.Node, spec v1alpha1.NodeUpgradeSpec, status *v1alpha1.NodeUpgradeStatus) {
	if spec.Upgrade != nil && !sameUpgrade(spec.Upgrade, status.Upgrade) {
		if s.dropSteps {
			status.Steps = nil
		}
		status.Upgrade, status.Versions.From, status.Retry.Attempts, status.Reboot.FromBootID, status.EtcdSnapshot = spec.Upgrade, n.Kubelet, 0, "", nil
	}
	switch {
	case status.Step == "":
		status.Step, n.BootID = v1alpha1.StepIdle, "boot"
		for _, pod := range s.APIServers {
			if pod.Node == n.Name {
				status.Versions.ControlPlane = pod.Version
			}
		}
	case status.ImageProblem != nil && spec.Type.HasVersion():
		status.Step = v1alpha1.StepUnsupported
	case status.Step == v1alpha1.StepUnsupported:
		status.Step = v1alpha1.StepWaiting
	case stagingFailed(status):
	case n.ControlPlane && spec.Image != nil && status.Versions.Staged == spec.Version && status.Versions.Pulled != spec.Version && n.Kubelet != spec.Version:
		status.Versions.Pulled, status.Step = spec.Version, v1alpha1.StepWaiting
	case spec.Image != nil && status.Versions.Staged != spec.Version && n.Kubelet != spec.Version:
		if status.Step == v1alpha1.StepStaging {
			status.Versions.Staged = spec.Version
			if n.ControlPlane && s.slow {
				return
			}
			status.Step = v1alpha1.StepWaiting
			if n.ControlPlane {
				status.Versions.Pulled = spec.Version
			}
			return
		}
		status.Step = v1alpha1.StepStaging
	case spec.FromBootID != "" && spec.FromBootID != n.BootID: // it has booted since the trigger
	case spec.Release.Granted():
		status.Step = v1alpha1.StepLocking
	}
}

func stagingFailed(status *v1alpha1.NodeUpgradeStatus) bool {
	r, _ := status.Cause()
	return r == v1alpha1.ReasonHashMismatch || r == v1alpha1.ReasonNotOffered || r == v1alpha1.ReasonDiskFull || r == v1alpha1.ReasonPullFailed
}

func (s *sim) lock(n *clusterstate.Node, spec v1alpha1.NodeUpgradeSpec, status *v1alpha1.NodeUpgradeStatus) {
	need := time.Duration(0)
	if spec.ExpectedSeconds != nil {
		need = time.Duration(*spec.ExpectedSeconds) * time.Second
	}
	if !spec.Release.Granted() || s.closed(n, spec, need) || !s.take(n) {
		status.Step = v1alpha1.StepWaiting
		return
	}
	if has := status.EtcdSnapshot; spec.EtcdSnapshotPolicy == v1alpha1.EtcdSnapshotRequired && (has == nil || !sameUpgrade(status.Upgrade, spec.Upgrade)) {
		status.Upgrade, status.Step = spec.Upgrade, v1alpha1.StepSnapshotting
		if s.slow {
			return
		}
		s.snapshot(n, status)
	}
	afterLock(spec, status)
}

// snapshot takes a snapshot of etcd.
func (s *sim) snapshot(n *clusterstate.Node, status *v1alpha1.NodeUpgradeStatus) {
	s.snapshots++
	status.EtcdSnapshot = &v1alpha1.EtcdSnapshot{Node: n.Name, Path: "/snapshot", CreationTime: metav1.NewTime(s.now)}
}

// take makes the node the holder of the slot that is reserved for it.
func (s *sim) take(n *clusterstate.Node) bool {
	for i := range s.Slots {
		if s.Slots[i].ReservedFor == n.Owner() && (s.Slots[i].Holder == clusterstate.Owner{} || s.Slots[i].Holder == n.Owner()) {
			s.Slots[i].Holder = n.Owner()
			return true
		}
	}
	return false
}

func (s *sim) held(n *clusterstate.Node) string {
	for _, slot := range s.Slots {
		if slot.Holder == n.Owner() {
			return slot.Name
		}
	}
	return ""
}

func (s *sim) free(n *clusterstate.Node) {
	for i := range s.Slots {
		if s.Slots[i].Holder == n.Owner() {
			s.Slots[i].Holder, s.Slots[i].ReservedFor = clusterstate.Owner{}, clusterstate.Owner{}
		}
	}
}

func (s *sim) closed(n *clusterstate.Node, spec v1alpha1.NodeUpgradeSpec, need time.Duration) bool {
	u := s.upgrade(upgradeNamed(spec.Upgrade))
	if followed := rules.FollowedUpgrade(s.Policy); u == nil && followed != nil && spec.Upgrade != nil && *spec.Upgrade == followed.Reference() {
		u = followed
	}
	return u == nil || rules.Window(u, spec.Type, s.Schedules, n.Labels, s.now, need).Reason != ""
}

// work does a step before the last check.
func (s *sim) work(n *clusterstate.Node, spec v1alpha1.NodeUpgradeSpec, status *v1alpha1.NodeUpgradeStatus) {
	switch status.Step {
	case v1alpha1.StepSnapshotting:
		s.snapshot(n, status)
		afterLock(spec, status)
	case v1alpha1.StepKubeadm:
		s.kubeadm(n, spec, status)
	case v1alpha1.StepCordoning:
		n.SlotAnnotation = s.held(n)
		s.begun = append(s.begun, n.Name)
		status.Retry.Attempts++
		status.Step = v1alpha1.StepDraining
	case v1alpha1.StepDraining:
		status.Step = v1alpha1.StepLastCheck
	}
}

func (s *sim) kubeadm(n *clusterstate.Node, spec v1alpha1.NodeUpgradeSpec, status *v1alpha1.NodeUpgradeStatus) {
	if spec.Type == v1alpha1.TypeCertificates {
		s.renewCertificates(n, *spec.Upgrade, status)
		status.Step = v1alpha1.StepChecking
		return
	}
	oneTurn := n.ControlPlane && status.Versions.Kubeadm != spec.Version
	status.Versions.Kubeadm = spec.Version
	for i := range s.APIServers {
		if s.APIServers[i].Node == n.Name {
			s.APIServers[i].Version, status.Versions.ControlPlane = spec.Version, spec.Version
		}
	}
	status.Step = s.afterKubeadm(n, spec, status)
	if spec.Release != v1alpha1.ReleaseNode || oneTurn {
		status.Step = v1alpha1.StepChecking
	}
}

// finish does a step after the last check, which nothing aborts.
func (s *sim) finish(n *clusterstate.Node, spec v1alpha1.NodeUpgradeSpec, status *v1alpha1.NodeUpgradeStatus) {
	switch status.Step {
	case v1alpha1.StepChecking:
		status.Step = v1alpha1.StepUnlocking
		if spec.Release == v1alpha1.ReleaseNode {
			status.Step = s.afterKubeadm(n, spec, status)
		}
	case v1alpha1.StepActivating:
		status.Step = v1alpha1.StepRebooting
		if status.Method == v1alpha1.MethodRestart {
			status.Step = v1alpha1.StepRestarting
		}
	case v1alpha1.StepRebooting:
		n.Ready = false
		if status.Method != v1alpha1.MethodSoftReboot {
			if from := spec.FromBootID; from != "" && from != n.BootID && sameUpgrade(spec.Upgrade, status.Upgrade) {
				s.wrongBoots = append(s.wrongBoots, n.Name)
			}
			s.boot(n, status)
		}
		status.Step = v1alpha1.StepVerifying
	case v1alpha1.StepRestarting:
		status.Step = v1alpha1.StepVerifying
	case v1alpha1.StepVerifying:
		n.Ready = true
		if spec.Version != "" { // a Reboot has none, nor has an order that was taken back meanwhile
			n.Kubelet = spec.Version
		}
		status.Step = v1alpha1.StepUncordoning
		if status.Method == v1alpha1.MethodRestart {
			status.Step = v1alpha1.StepUnlocking
		}
	case v1alpha1.StepUncordoning:
		n.SlotAnnotation = ""
		if spec.HoldAfter {
			n.Labels[v1alpha1.HoldLabel] = ""
		}
		status.Step = v1alpha1.StepUnlocking
	case v1alpha1.StepUnlocking:
		s.free(n)
		status.Step = v1alpha1.StepWaiting
	}
}
