package preflight

import (
	"fmt"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// KubeadmConfig is how kubeadm made the cluster: the ClusterConfiguration in the ConfigMap
// kube-system/kubeadm-config.
type KubeadmConfig struct {
	ClusterConfiguration
	// Problem is why it could not be read. Empty: it was read.
	Problem string
	// Missing reports whether the problem is that the ConfigMap, or kubeadm's key in it, does not exist.
	Missing bool
}

// ClusterConfiguration is a part of kubeadm's.
type ClusterConfiguration struct {
	APIVersion      string `json:"apiVersion"`
	ImageRepository string `json:"imageRepository"`
	Proxy           Addon  `json:"proxy"`
	DNS             Addon  `json:"dns"`
	Etcd            Etcd   `json:"etcd"`
}

// Etcd is what a ClusterConfiguration says about etcd.
type Etcd struct {
	// External is how an etcd is reached that kubeadm neither runs nor upgrades. Nil: kubeadm does.
	External *struct{} `json:"external"`
}

// Addon is what a ClusterConfiguration says about an addon.
type Addon struct {
	Disabled bool `json:"disabled"`
	// ImageRepository and ImageTag are those of the image. Empty: kubeadm's own. Only DNS has them.
	ImageRepository string `json:"imageRepository"`
	ImageTag        string `json:"imageTag"`
}

// withoutDisabled is the one version without the field disabled that kubeadm still reads: kubeadm 1.34.4 warns of
// the field in the ConfigMap, and installs the addon.
const withoutDisabled = "kubeadm.k8s.io/v1beta3"

// ParseClusterConfiguration parses a ClusterConfiguration.
func ParseClusterConfiguration(text []byte) (ClusterConfiguration, error) {
	var c ClusterConfiguration
	if err := yaml.Unmarshal(text, &c); err != nil {
		return ClusterConfiguration{}, fmt.Errorf("decoding it: %w", err)
	}
	if c.APIVersion == withoutDisabled {
		c.Proxy.Disabled, c.DNS.Disabled = false, false
	}
	return c, nil
}

// checkConfigMaps finds ConfigMaps of kubeadm that do not exist, and one that could not be read: kubeadm
// reads both before it upgrades any node, and where kubelet-config is missing its message names
// kubeadm-config (kubeadm 1.34.4).
func (c *checker) checkConfigMaps() {
	if !slices.ContainsFunc(c.nodes, c.runsKubeadm) {
		return
	}
	if config := c.KubeadmConfig; config != nil && config.Missing {
		c.configMapMissing(clusterstate.KubeadmConfigMapName, config.Problem, "On a control-plane node, write the ClusterConfiguration of this cluster to a file, "+
			"with the apiservers' version as kubernetesVersion, and: kubeadm init phase upload-config kubeadm --config FILE. "+
			"kubeadm makes the new static pods of the control plane from it: compare it with /etc/kubernetes/manifests.")
	} else if config != nil && config.Problem != "" {
		c.add(v1alpha1.Finding{ID: "unread", Object: kubeadmObject("ConfigMap", clusterstate.KubeadmConfigMapName),
			Message: fmt.Sprintf("ConfigMap kube-system/kubeadm-config could not be read (%s): "+
				"whether kubeadm would install kube-proxy or CoreDNS again is not known.", sentence(config.Problem))})
	}
	if config := c.KubeletConfig; config != nil && config.Missing {
		c.configMapMissing(clusterstate.KubeletConfigMapName, config.Problem, "On a control-plane node: export KUBECONFIG=/etc/kubernetes/admin.conf; "+
			"(kubectl -n kube-system get configmap kubeadm-config -o jsonpath='{.data.ClusterConfiguration}'; echo; echo ---; cat /var/lib/kubelet/config.yaml) > kubeadm.yaml && "+
			"kubeadm init phase upload-config kubelet --config kubeadm.yaml. kubeadm writes it to every node that it upgrades.")
	}
}

func (c *checker) configMapMissing(name, problem, advice string) {
	c.add(v1alpha1.Finding{ID: "configmap-missing", Object: kubeadmObject("ConfigMap", name), Advice: advice,
		Message: fmt.Sprintf("kubeadm reads ConfigMap kube-system/%s before it upgrades a node, and %s.", name, sentence(problem))})
}

// kubeadmObject is an object that kubeadm keeps in the cluster.
func kubeadmObject(kind, name string) v1alpha1.ObjectReference {
	return v1alpha1.ObjectReference{Kind: kind, Namespace: clusterstate.KubeadmNamespace, Name: name}
}

// appliesKubeadm reports whether a control plane is still to run `kubeadm upgrade apply`: the first one of an upgrade does,
// the others run `kubeadm upgrade node`, and all of them where Cluster API decides on versions.
func (c *checker) appliesKubeadm() bool {
	list := c.controlPlanes()
	return c.kubeadm && c.Policy.VersionsFrom != v1alpha1.VersionsFromClusterAPI && slices.ContainsFunc(list, c.runsKubeadm) &&
		!slices.ContainsFunc(list, func(n *node) bool { return version.Reached(n.status.Versions.Kubeadm, c.to) })
}

// minorWithAddonPhase is the first minor whose kubeadm installs addons whether or not they are there, in
// `upgrade apply`, and in `upgrade node` on the last control plane (runKubeProxyAddon in
// cmd/kubeadm/app/cmd/phases/upgrade/addons.go of v1.34.4). kubeadm 1.31 looks for their ConfigMaps first.
const minorWithAddonPhase = 32

// checkAddons finds an addon that was removed and that kubeadm would install again.
func (c *checker) checkAddons() {
	config := c.KubeadmConfig
	if c.to.Minor < minorWithAddonPhase || config == nil || config.Problem != "" || !slices.ContainsFunc(c.controlPlanes(), c.runsKubeadm) {
		return
	}
	if c.KubeProxyRemoved && !config.Proxy.Disabled {
		c.addonReturns("kube-proxy", kubeadmObject("DaemonSet", clusterstate.KubeProxyName), "proxy")
	}
	if c.CoreDNSRemoved && !config.DNS.Disabled {
		c.addonReturns("CoreDNS", kubeadmObject("Deployment", clusterstate.CoreDNSName), "dns")
	}
}

func (c *checker) addonReturns(addon string, object v1alpha1.ObjectReference, field string) {
	set := fmt.Sprintf("disabled: true below %[1]s: (%[1]s: {disabled: true} in place of %[1]s: {})", field)
	advice := fmt.Sprintf("To go on without it: kubectl -n kube-system edit configmap kubeadm-config, and in ClusterConfiguration set %s.", set)
	if c.KubeadmConfig.APIVersion == withoutDisabled {
		advice = fmt.Sprintf("To go on without it, on a control-plane node: "+
			"kubectl -n kube-system get configmap kubeadm-config -o jsonpath='{.data.ClusterConfiguration}' > old.yaml; "+
			"kubeadm config migrate --old-config old.yaml --new-config new.yaml; in new.yaml set %s; kubeadm init phase upload-config kubeadm --config new.yaml.", set)
	}
	advice += " If it is to come back, or kubeadm-upgrade.yaml skips phase addon on every control-plane node, ignore this check."
	c.add(v1alpha1.Finding{ID: "addon-removed", Object: object, Advice: advice,
		Message: fmt.Sprintf("%s %s/%s does not exist, and ClusterConfiguration does not disable it: kubeadm %s would install %s again.",
			object.Kind, object.Namespace, object.Name, c.to, addon)})
}
