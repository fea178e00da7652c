package artifacts

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const kubernetesGoMod = `module k8s.io/kubernetes

require (
	k8s.io/api v0.0.0
	k8s.io/klog/v2 v2.130.1
)

replace (
	k8s.io/api => ./staging/src/k8s.io/api
	k8s.io/sample-controller => ./staging/src/k8s.io/sample-controller
	example.com/other => example.com/fork v1.0.0
)
`

func TestKubernetesModules(t *testing.T) {
	requires, replaces, err := kubernetesModules([]byte(kubernetesGoMod), "1.34.4")
	if err != nil {
		t.Fatal(err)
	}
	// Nothing requires sample-controller, so there need not be one.
	if diff := cmp.Diff([]string{"k8s.io/kubernetes@v1.34.999", "k8s.io/api@v0.34.999"}, requires); diff != "" {
		t.Errorf("requires (-want +got):\n%s", diff)
	}
	want := []string{"k8s.io/kubernetes=k8s.io/kubernetes@v1.34.4", "k8s.io/api=k8s.io/api@v0.34.4",
		"k8s.io/sample-controller=k8s.io/sample-controller@v0.34.4"}
	if diff := cmp.Diff(want, replaces); diff != "" {
		t.Errorf("replaces (-want +got):\n%s", diff)
	}
}

func TestPatchVersionsRequireTheSame(t *testing.T) {
	first, _, _ := kubernetesModules([]byte(kubernetesGoMod), "1.34.3")
	second, _, _ := kubernetesModules([]byte(kubernetesGoMod), "1.34.4")
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("two patch versions are compiled apart (-first +second):\n%s", diff)
	}
	if _, _, err := kubernetesModules([]byte("requires nothing"), "1.34.3"); err == nil || !strings.Contains(err.Error(), "go.mod:1") {
		t.Errorf("a go.mod that cannot be read gave %v", err)
	}
}
