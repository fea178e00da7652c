package rebootmanager

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// A reboot manager that may not reboot anything now is told of all the same.
func TestInstalledManagers(t *testing.T) {
	of := func(image, lock string) *appsv1.DaemonSet {
		d := daemonSet(lock, image, 1)
		d.Name = "d"
		return d
	}
	for _, test := range []struct {
		name   string
		nodes  []*corev1.Node
		set    *appsv1.DaemonSet
		want   string
		active bool
	}{
		{"nothing", nil, of("registry.example/shop:1", ""), "", false},
		{"kured without its lock", nil, of("ghcr.io/kubereboot/kured:1.21.0", ""), "kured", false},
		{"kured, pinned", nil, of("ghcr.io/kubereboot/kured@sha256:00", ""), "kured", false},
		{"something like kured", nil, of("example/kured-exporter:1", ""), "", false},
		{"kured with its lock", nil, of("example/mirror:1", `{"nodeID":"w1"}`), "kured", true},
		{"FLUO", []*corev1.Node{node()}, of("ghcr.io/flatcar/"+fluoImage+":1", ""), "FLUO", true},
		{"FLUO, paused", []*corev1.Node{node(fluoPaused + "=true")}, of("ghcr.io/flatcar/"+fluoImage+":1", ""), "FLUO", false},
	} {
		got := Installed(test.nodes, []*appsv1.DaemonSet{test.set}, nil)
		switch {
		case test.want == "" && len(got) > 0:
			t.Errorf("%s: %+v", test.name, got)
		case test.want != "" && (len(got) != 1 || got[0].Name != test.want || got[0].Active != test.active || got[0].Message == ""):
			t.Errorf("%s: %+v, want one %s, active %t", test.name, got, test.want, test.active)
		}
	}
}
