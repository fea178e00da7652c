package clusterstate

import (
	"cmp"
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
	KubeletConfigMapName = "kubelet-config"
	KubeletConfigMapKey  = "kubelet"
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
	Values       KubeletValues
}

// KubeletValues are the values of the fields that say where the kubelet listens and which files
// it uses. What is not set is nil or empty; kubelets have their defaults for these.
type KubeletValues struct {
	HealthzPort        *int32 `json:"healthzPort"`
	HealthzBindAddress string `json:"healthzBindAddress"`
	Port               int32  `json:"port"`
	Address            string `json:"address"`
	EnableServer       *bool  `json:"enableServer"`
	StaticPodPath      string `json:"staticPodPath"`
	RotateCertificates *bool  `json:"rotateCertificates"`
	ServerTLSBootstrap *bool  `json:"serverTLSBootstrap"`
	TLSCertFile        string `json:"tlsCertFile"`
}

func (v KubeletValues) with(later KubeletValues) KubeletValues {
	return KubeletValues{
		HealthzPort:        cmp.Or(later.HealthzPort, v.HealthzPort),
		HealthzBindAddress: cmp.Or(later.HealthzBindAddress, v.HealthzBindAddress),
		Port:               cmp.Or(later.Port, v.Port),
		Address:            cmp.Or(later.Address, v.Address),
		EnableServer:       cmp.Or(later.EnableServer, v.EnableServer),
		StaticPodPath:      cmp.Or(later.StaticPodPath, v.StaticPodPath),
		RotateCertificates: cmp.Or(later.RotateCertificates, v.RotateCertificates),
		ServerTLSBootstrap: cmp.Or(later.ServerTLSBootstrap, v.ServerTLSBootstrap),
		TLSCertFile:        cmp.Or(later.TLSCertFile, v.TLSCertFile),
	}
}

// ParseKubeletConfig parses a KubeletConfiguration or a part of one. If a value is invalid, it
// returns what is known with the error.
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
	if err := yaml.Unmarshal(text, &c.Values); err != nil {
		c.Values = KubeletValues{} // a value of another type is decoded as zero
		return c, fmt.Errorf("decoding it: %w", err)
	}
	return c, nil
}

// With returns c with a later one merged into it, as the kubelet merges its files.
func (c KubeletConfig) With(later KubeletConfig) KubeletConfig {
	c.Fields = slices.Compact(slices.Sorted(slices.Values(slices.Concat(c.Fields, later.Fields))))
	if later.FailCgroupV1 != nil {
		c.FailCgroupV1 = later.FailCgroupV1
	}
	c.Values = c.Values.with(later.Values)
	return c
}
