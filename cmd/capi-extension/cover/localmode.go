package cover

import "github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"

// localModeGate is the feature gate of kubeadm with which the kubelet of a control plane talks to the
// kube-apiserver of its own node.
const localModeGate = "ControlPlaneKubeletLocalMode"

// Minors of Kubernetes v1: in the first the gate is on by default, in the second it is gone.
const (
	localModeByDefault = 33
	localModeAlways    = 36
)

// LocalMode reports whether kubeadm of a version has the kubelet of a control plane talk to its own
// kube-apiserver, by the control plane's KubeadmConfig. Otherwise a new kubelet could talk to an
// older kube-apiserver, as KubeadmControlPlane upgrades a machine as a whole before the next.
func LocalMode(to version.Version, kubeadmConfig []byte) (bool, error) {
	if to.Major > 1 || to.Minor >= localModeAlways {
		return true, nil
	}
	config, err := decode(kubeadmConfig)
	if err != nil {
		return false, err
	}
	gates := field(field(field(config, "spec"), "clusterConfiguration"), "featureGates")
	if set, ok := field(gates, localModeGate).(bool); ok {
		return set, nil
	}
	return to.Minor >= localModeByDefault, nil
}
