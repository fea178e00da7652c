package cover

import "slices"

// rules say which differences of two objects count, and which of these are covered. All paths are
// below the spec.
type rules struct {
	// version is where the Kubernetes version is.
	version []string
	// texts are the fields whose texts, and those of all below, may mention the version.
	texts [][]string
	// optional are fields that Cluster API itself adds and removes with the version.
	optional [][]string
	// ignored are the fields that Cluster API does not compare: what it changes without an update, and
	// what belongs to one object.
	ignored [][]string
}

func (r rules) isVersion(below place) bool { return same(below, r.version) }

func (r rules) ignores(below place) bool {
	return slices.ContainsFunc(r.ignored, func(path []string) bool { return same(below, path) })
}

func (r rules) hasText(below place) bool {
	return slices.ContainsFunc(r.texts, func(path []string) bool {
		return len(below) >= len(path) && same(below[:len(path)], path)
	})
}

// comesAndGoes reports whether a value that only one of two objects has is an optional field, or maps
// that have nothing but it.
func (r rules) comesAndGoes(below place, value any) bool {
	return slices.ContainsFunc(r.optional, func(path []string) bool {
		if len(below) > len(path) || !same(below, path[:len(below)]) {
			return false
		}
		for _, key := range path[len(below):] {
			fields, ok := value.(map[string]any)
			if !ok || len(fields) != 1 {
				return false
			}
			value, ok = fields[key]
			if !ok {
				return false
			}
		}
		return value == true
	})
}

func same(below place, path []string) bool {
	return len(path) > 0 && slices.EqualFunc(below, path, func(key any, want string) bool { return key == want })
}

// machineSpec are the rules of a Machine's spec. What is ignored is what Cluster API's
// CleanupMachineSpecForDiff leaves out.
var machineSpec = rules{
	version: []string{"version"},
	ignored: [][]string{
		{"clusterName"}, {"bootstrap"}, {"infrastructureRef"}, {"providerID"},
		{"minReadySeconds"}, {"readinessGates"}, {"taints"}, {"deletion"},
	},
}

// localModeGate is the feature gate of kubeadm with which the kubelet of a control plane talks to the
// kube-apiserver of its own node.
const localModeGate = "ControlPlaneKubeletLocalMode"

// kubeadmConfigSpec are the rules of a KubeadmConfig's spec: what a new machine downloads and runs when
// it joins, which a machine that exists has already.
var kubeadmConfigSpec = rules{
	texts: [][]string{
		{"clusterConfiguration"}, {"files"}, {"ignition", "containerLinuxConfig", "additionalConfig"},
		{"bootCommands"}, {"preKubeadmCommands"}, {"postKubeadmCommands"},
	},
	// KubeadmControlPlane sets it from v1.31 to v1.35.
	optional: [][]string{{"clusterConfiguration", "featureGates", localModeGate}},
}

// infrastructureSpec are the rules of a machine at its provider: an upgrade in place changes nothing of
// it, not even an image whose name has the version.
var infrastructureSpec = rules{}
