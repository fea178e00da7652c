package clusterstate

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"sigs.k8s.io/yaml"
)

// What kubeadm keeps in a cluster, in one namespace: the ConfigMap with the ClusterConfiguration, under that key, and
// the addons that it installs, a DaemonSet and a Deployment (cmd/kubeadm/app/constants/constants.go, v1.34.4). CoreDNS's
// ConfigMap has the Deployment's name; kubeadm takes each Deployment with that label for its DNS addon.
const (
	KubeadmNamespace     = "kube-system"
	KubeadmConfigMapName = "kubeadm-config"
	KubeadmConfigMapKey  = "ClusterConfiguration"
	KubeProxyName        = "kube-proxy"
	CoreDNSName          = "coredns"
	CoreDNSConfigKey     = "Corefile"
	CoreDNSLabelKey      = "k8s-app"
	CoreDNSLabelValue    = "kube-dns"
)

// ConfigurationHash returns a text that changes with kubeadm's ClusterConfiguration, but not with the version in it, which
// `kubeadm upgrade apply` sets, or with another configuration. What cannot be decoded counts as it is.
func ConfigurationHash(text string) string {
	var config map[string]any
	if err := yaml.Unmarshal([]byte(text), &config); err == nil {
		delete(config, "kubernetesVersion")
		if data, err := json.Marshal(config); err == nil {
			text = string(data)
		}
	}
	hash := sha256.Sum256([]byte(text))
	return hex.EncodeToString(hash[:])
}
