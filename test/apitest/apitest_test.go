package apitest

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

func TestMain(m *testing.M) { Main(m) }

func TestServerServesOurKinds(t *testing.T) {
	config := Start(t)
	InstallCRDs(t, config)
	InstallCRDs(t, config)
	out, err := Kubectl(t, config, "get", "maintenanceschedules,upgradepolicies,clusterupgrades,nodeupgrades,upgraderecords,nodeinventories").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "No resources found") {
		t.Errorf("kubectl get: %v\n%s", err, out)
	}
}

// TestKubeletMayChangeItsNodeOnly checks that a kubelet's rights are as narrow as on a real
// cluster, on which tests of an agent's rights depend.
func TestKubeletMayChangeItsNodeOnly(t *testing.T) {
	config := Start(t)
	for _, name := range []string{"own", "other"} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "apitest-" + name}}
		if _, err := kubernetes.NewForConfigOrDie(config).CoreV1().Nodes().Create(context.Background(), node, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:node:apitest-own", Groups: []string{"system:nodes"}}
	nodes := kubernetes.NewForConfigOrDie(config).CoreV1().Nodes()
	cordon := []byte(`{"spec":{"unschedulable":true}}`)
	if _, err := nodes.Patch(context.Background(), "apitest-own", "application/merge-patch+json", cordon, metav1.PatchOptions{}); err != nil {
		t.Errorf("cordoning its own node: %v", err)
	}
	if _, err := nodes.Patch(context.Background(), "apitest-other", "application/merge-patch+json", cordon, metav1.PatchOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("cordoning another node: %v, want Forbidden", err)
	}
}

func TestMissingProgramNamesTheTarget(t *testing.T) {
	t.Setenv("KUBE_ASSETS", t.TempDir())
	_, err := newServer()
	if err == nil || !strings.Contains(err.Error(), "make assets") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v, want one line that names the make target", err)
	}
}
