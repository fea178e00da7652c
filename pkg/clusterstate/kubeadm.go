package clusterstate

// What kubeadm keeps in a cluster, in one namespace: the ConfigMap with the ClusterConfiguration, under that key, and
// the addons that it installs, a DaemonSet and a Deployment (cmd/kubeadm/app/constants/constants.go, v1.34.4).
const (
	KubeadmNamespace     = "kube-system"
	KubeadmConfigMapName = "kubeadm-config"
	KubeadmConfigMapKey  = "ClusterConfiguration"
	KubeProxyName        = "kube-proxy"
	CoreDNSName          = "coredns"
)
