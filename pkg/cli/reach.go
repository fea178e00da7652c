package cli

import (
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/preflight"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/staticpod"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// reach is the cluster with every node at least at that version, and in service.
func reach(s fleet.Snapshot, v version.Version) fleet.Snapshot {
	s.APIServers, s.Nodes, s.Slots = slices.Clone(s.APIServers), slices.Clone(s.Nodes), slices.Clone(s.Slots)
	words, ours := make([]v1alpha1.NodeUpgrade, len(s.NodeUpgrades)), map[string]bool{}
	for i := range s.NodeUpgrades {
		words[i] = *s.NodeUpgrades[i].DeepCopy()
		status := &words[i].Status
		if status.Step == v1alpha1.StepUnsupported || words[i].Abandoned != nil {
			continue
		}
		ours[words[i].Name] = true
		words[i].Spec, status.Step, status.Conditions, status.Retry = v1alpha1.NodeUpgradeSpec{}, v1alpha1.StepIdle, nil, v1alpha1.Retry{}
		raise(v, &status.Versions.Kubelet, &status.Versions.Kubeadm, &status.Versions.ControlPlane)
	}
	s.NodeUpgrades = words
	for i := range s.APIServers {
		raise(v, &s.APIServers[i].Version)
	}
	for i := range s.Nodes {
		if n := &s.Nodes[i]; ours[n.Name] {
			raise(v, &n.Kubelet)
			n.Ready, n.Slot = n.Ready || n.Slot != "", ""
		}
	}
	for i := range s.Slots {
		s.Slots[i].ReservedFor, s.Slots[i].Holder = fleet.Owner{}, fleet.Owner{}
	}
	return s
}

// raise makes an older version that one. What is no version stays as it is.
func raise(v version.Version, versions ...*string) {
	for _, text := range versions {
		if had, err := version.Parse(*text); err == nil && had.Less(v) {
			*text = v.String()
		}
	}
}

// asPlanned lets the checks look at nodes and apiservers as the plan has them,
// should it begin where other upgrades end.
func asPlanned(facts *preflight.Facts, s fleet.Snapshot) {
	kubelets, servers := map[string]version.Version{}, map[string]version.Version{}
	for _, n := range s.Nodes {
		kubelets[n.Name], _ = version.Parse(n.Kubelet)
	}
	for _, pod := range s.APIServers {
		servers[pod.Node], _ = version.Parse(pod.Version)
	}
	facts.NodeUpgrades = s.NodeUpgrades
	for i := range facts.Nodes {
		raise(kubelets[facts.Nodes[i].Name], &facts.Nodes[i].Status.NodeInfo.KubeletVersion)
	}
	for i := range facts.SystemPods {
		pod := &facts.SystemPods[i]
		was := staticpod.Version(pod)
		now := was
		if raise(servers[pod.Spec.NodeName], &now); now != was && pod.Labels["component"] == "kube-apiserver" {
			pod.Spec.Containers[0].Image = "kube-apiserver:" + now
		}
	}
}
