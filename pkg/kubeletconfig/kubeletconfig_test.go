package kubeletconfig

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	yes, no := true, false
	for name, test := range map[string]struct {
		text    string
		want    Config
		problem string
	}{
		"nothing":         {"", Config{}, ""},
		"fields":          {"kind: KubeletConfiguration\napiVersion: x\nport: 1\nfeatureGates: {B: true, A: false}\n", Config{Fields: []string{"featureGates", "featureGates.A", "featureGates.B", "port"}}, ""},
		"no gates":        {"featureGates:\n", Config{Fields: []string{"featureGates"}}, ""},
		"fails":           {"failCgroupV1: true\n", Config{Fields: []string{"failCgroupV1"}, FailCgroupV1: &yes}, ""},
		"does not fail":   {"failCgroupV1: false\n", Config{Fields: []string{"failCgroupV1"}, FailCgroupV1: &no}, ""},
		"neither of them": {"failCgroupV1: 1\nport: 1\n", Config{Fields: []string{"failCgroupV1", "port"}}, "failCgroupV1: 1"},
		"no YAML":         {"a: [\n", Config{}, "decoding it"},
		"a list":          {"- op: add\n", Config{}, "decoding it"},
	} {
		got, err := Parse([]byte(test.text))
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
	first := Config{Fields: []string{"b", "c"}, FailCgroupV1: &yes}
	if diff := cmp.Diff(Config{Fields: []string{"a", "b", "c"}, FailCgroupV1: &no}, first.With(Config{Fields: []string{"a", "b"}, FailCgroupV1: &no})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(first, first.With(Config{})); diff != "" {
		t.Errorf("nothing changes something: %s", diff)
	}
}
