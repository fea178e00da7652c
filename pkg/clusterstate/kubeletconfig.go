package clusterstate

import (
	"fmt"
	"maps"
	"slices"

	"sigs.k8s.io/yaml"
)

// Where kubeadm keeps the configuration of all kubelets, and under which key
// (KubeletBaseConfigurationConfigMap and its Key in
// cmd/kubeadm/app/constants/constants.go, v1.35.4). It writes every node's file
// from there when it upgrades the node.
const (
	KubeletConfigMapNamespace = "kube-system"
	KubeletConfigMapName      = "kubelet-config"
	KubeletConfigMapKey       = "kubelet"
)

// FeatureGatePrefix is what a feature gate's name has before it among the fields.
const FeatureGatePrefix = "featureGates."

// KubeletConfig has those parts, of one or several files.
type KubeletConfig struct {
	// Fields at the top that are set, such as cgroupDriver, and the feature gates,
	// such as featureGates.CPUManager, sorted.
	Fields []string
	// FailCgroupV1 is the field's value; nil if it is not set.
	FailCgroupV1 *bool
}

// ParseKubeletConfig parses a KubeletConfiguration or a part of one. If failCgroupV1 is invalid, it
// returns the other fields with the error.
func ParseKubeletConfig(text []byte) (KubeletConfig, error) {
	var values map[string]any
	if err := yaml.Unmarshal(text, &values); err != nil {
		return KubeletConfig{}, fmt.Errorf("decoding it: %w", err)
	}
	fields := map[string]bool{}
	for field, value := range values {
		if field == "apiVersion" || field == "kind" {
			continue
		}
		fields[field] = true
		if gates, ok := value.(map[string]any); ok && field == "featureGates" {
			for gate := range gates {
				fields[FeatureGatePrefix+gate] = true
			}
		}
	}
	c := KubeletConfig{Fields: slices.Sorted(maps.Keys(fields))}
	if value, there := values["failCgroupV1"]; there {
		fail, ok := value.(bool)
		if !ok {
			return c, fmt.Errorf("it has failCgroupV1: %v, which is neither true nor false", value)
		}
		c.FailCgroupV1 = &fail
	}
	return c, nil
}

// With returns c with a later Config merged into it, as the kubelet merges its files.
func (c KubeletConfig) With(later KubeletConfig) KubeletConfig {
	c.Fields = slices.Compact(slices.Sorted(slices.Values(slices.Concat(c.Fields, later.Fields))))
	if later.FailCgroupV1 != nil {
		c.FailCgroupV1 = later.FailCgroupV1
	}
	return c
}
