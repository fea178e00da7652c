package clusterstate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	yes, no := true, false
	for name, test := range map[string]struct {
		text    string
		want    KubeletConfig
		problem string
	}{
		"nothing": {"", KubeletConfig{}, ""},
		"fields":  {"kind: KubeletConfiguration\napiVersion: x\nport: 1\nfeatureGates: {B: true, A: false}\n", KubeletConfig{Fields: []string{"featureGates", "featureGates.A", "featureGates.B", "port"}, Values: KubeletValues{Port: 1}}, ""},
		"values": {"healthzPort: 0\nhealthzBindAddress: ::1\nstaticPodPath: /m\nrotateCertificates: true\n", KubeletConfig{
			Fields: []string{"healthzBindAddress", "healthzPort", "rotateCertificates", "staticPodPath"},
			Values: KubeletValues{HealthzPort: new(int32), HealthzBindAddress: "::1", StaticPodPath: "/m", RotateCertificates: &yes},
		}, ""},
		"no number":       {"healthzPort: x\naddress: a\n", KubeletConfig{Fields: []string{"address", "healthzPort"}}, "healthzPort"},
		"no gates":        {"featureGates:\n", KubeletConfig{Fields: []string{"featureGates"}}, ""},
		"fails":           {"failCgroupV1: true\n", KubeletConfig{Fields: []string{"failCgroupV1"}, FailCgroupV1: &yes}, ""},
		"does not fail":   {"failCgroupV1: false\n", KubeletConfig{Fields: []string{"failCgroupV1"}, FailCgroupV1: &no}, ""},
		"neither of them": {"failCgroupV1: 1\nport: 1\n", KubeletConfig{Fields: []string{"failCgroupV1", "port"}}, "failCgroupV1: 1"},
		"no YAML":         {"a: [\n", KubeletConfig{}, "decoding it"},
		"a list":          {"- op: add\n", KubeletConfig{}, "decoding it"},
	} {
		got, err := ParseKubeletConfig([]byte(test.text))
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
		if (err == nil) != (test.problem == "") || err != nil && !strings.Contains(err.Error(), test.problem) {
			t.Errorf("%s: %v, want %q", name, err, test.problem)
		}
	}
}

func TestWith(t *testing.T) {
	yes, no := true, false
	first := KubeletConfig{Fields: []string{"b", "c"}, FailCgroupV1: &yes}
	if diff := cmp.Diff(KubeletConfig{Fields: []string{"a", "b", "c"}, FailCgroupV1: &no}, first.With(KubeletConfig{Fields: []string{"a", "b"}, FailCgroupV1: &no})); diff != "" {
		t.Error(diff)
	}
	ten, zero := int32(10), int32(0)
	listens := KubeletConfig{Values: KubeletValues{HealthzPort: &ten, HealthzBindAddress: "a", Port: 1, Address: "b", EnableServer: &yes, StaticPodPath: "c", RotateCertificates: &yes, ServerTLSBootstrap: &yes, TLSCertFile: "g"}}
	later := KubeletConfig{Values: KubeletValues{HealthzPort: &zero, HealthzBindAddress: "d", Port: 2, Address: "e", EnableServer: &no, StaticPodPath: "f", RotateCertificates: &no, ServerTLSBootstrap: &no, TLSCertFile: "h"}}
	if diff := cmp.Diff(later, listens.With(later)); diff != "" {
		t.Errorf("the later does not win: %s", diff)
	}
	if diff := cmp.Diff(listens, listens.With(KubeletConfig{})); diff != "" {
		t.Errorf("nothing changes a value: %s", diff)
	}
	if diff := cmp.Diff(first, first.With(KubeletConfig{})); diff != "" {
		t.Errorf("nothing changes something: %s", diff)
	}
}
