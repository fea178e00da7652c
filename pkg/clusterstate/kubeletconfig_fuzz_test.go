package clusterstate

import (
	"slices"
	"testing"
)

func FuzzParse(f *testing.F) {
	f.Add([]byte("kind: KubeletConfiguration\nfailCgroupV1: false\nfeatureGates: {CPUManager: true}\n"))
	f.Add([]byte("failCgroupV1: maybe\nfeatureGates: [a]"))
	f.Add([]byte("a: &a [*a]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := ParseKubeletConfig(text)
		if err == nil && !slices.IsSorted(c.Fields) {
			t.Errorf("%q has the fields %q", text, c.Fields)
		}
	})
}
