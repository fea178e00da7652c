package clusterstate

import (
	"strings"
	"testing"
)

func FuzzImageVersion(f *testing.F) {
	f.Add("registry.k8s.io/kube-apiserver:v1.34.4")
	f.Add("localhost:5000/kube-apiserver@sha256:ab")
	f.Add(":@/")
	f.Fuzz(func(t *testing.T, image string) {
		if tag := ImageVersion(image); !strings.Contains(strings.ReplaceAll(image, "_", "+"), tag) || strings.ContainsAny(tag, "/@") {
			t.Errorf("%q has the version %q", image, tag)
		}
	})
}
