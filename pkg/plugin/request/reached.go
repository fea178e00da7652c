package request

import (
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/staticpod"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// reached returns the cluster with every node at least at that version, and in
// service. A node without a sysext image keeps its version.
func reached(s fleet.Snapshot, v version.Version) fleet.Snapshot {
	s.APIServers, s.Nodes, s.Slots = slices.Clone(s.APIServers), slices.Clone(s.Nodes), slices.Clone(s.Slots)
	nodeUpgrades, raised := make([]v1alpha1.NodeUpgrade, len(s.NodeUpgrades)), map[string]bool{}
	for i := range s.NodeUpgrades {
		nodeUpgrades[i] = *s.NodeUpgrades[i].DeepCopy()
		u := &nodeUpgrades[i]
		if u.Abandoned != nil {
			continue
		}
		raised[u.Name] = !u.Status.LacksImage()
		u.Spec, u.Status.Step, u.Status.Conditions, u.Status.Retry = v1alpha1.NodeUpgradeSpec{}, v1alpha1.StepIdle, nil, v1alpha1.Retry{}
		if !raised[u.Name] {
			u.Status.Step = v1alpha1.StepUnsupported
			continue
		}
		raise(v, &u.Status.Versions.Kubelet, &u.Status.Versions.Kubeadm, &u.Status.Versions.ControlPlane)
	}
	s.NodeUpgrades = nodeUpgrades
	for i := range s.APIServers {
		raise(v, &s.APIServers[i].Version)
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		isRaised, inService := raised[n.Name]
		if isRaised {
			raise(v, &n.Kubelet)
		}
		if inService {
			n.Ready, n.SlotAnnotation = n.Ready || n.SlotAnnotation != "", ""
		}
	}
	for i := range s.Slots {
		s.Slots[i].ReservedFor, s.Slots[i].Holder = fleet.Owner{}, fleet.Owner{}
	}
	return s
}

// raise replaces older versions by v. A text that is no version stays as it is.
func raise(v version.Version, versions ...*string) {
	for _, text := range versions {
		if had, err := version.Parse(*text); err == nil && had.Less(v) {
			*text = v.String()
		}
	}
}

// CompleteFacts completes the facts that the checks look at by those of the snapshot: the
// objects of the project's kinds, and the versions of nodes and apiservers, as a snapshot may
// suppose that other upgrades have ended.
func CompleteFacts(facts *preflight.Facts, s fleet.Snapshot) {
	kubelets, servers := map[string]version.Version{}, map[string]version.Version{}
	for _, n := range s.Nodes {
		kubelets[n.Name], _ = version.Parse(n.Kubelet)
	}
	for _, pod := range s.APIServers {
		servers[pod.Node], _ = version.Parse(pod.Version)
	}
	facts.NodeUpgrades, facts.Inventories = s.NodeUpgrades, s.Inventories
	if s.Policy != nil {
		facts.Policy = s.Policy.Spec
	}
	for i := range facts.Nodes {
		raise(kubelets[facts.Nodes[i].Name], &facts.Nodes[i].Status.NodeInfo.KubeletVersion)
	}
	for i := range facts.SystemPods {
		pod := &facts.SystemPods[i]
		had := staticpod.Version(pod)
		has := had
		if raise(servers[pod.Spec.NodeName], &has); has != had && pod.Labels["component"] == "kube-apiserver" {
			pod.Spec.Containers[0].Image = "kube-apiserver:" + has
		}
	}
}
