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
		"nothing":         {"", KubeletConfig{}, ""},
		"fields":          {"kind: KubeletConfiguration\napiVersion: x\nport: 1\nfeatureGates: {B: true, A: false}\n", KubeletConfig{Fields: []string{"featureGates", "featureGates.A", "featureGates.B", "port"}}, ""},
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
	if diff := cmp.Diff(first, first.With(KubeletConfig{})); diff != "" {
		t.Errorf("nothing changes something: %s", diff)
	}
}
