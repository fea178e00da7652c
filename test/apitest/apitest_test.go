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
	out, err := Kubectl(t, config, "get", "maintenanceschedules,upgradepolicies,clusterupgrades,nodeupgrades,upgraderecords,nodeinventories,coordinatorstates").CombinedOutput()
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

// TestFreshServerHasNothingOfOtherTests checks that what a test creates, changes or deletes is
// not there, or there again, for the next.
func TestFreshServerHasNothingOfOtherTests(t *testing.T) {
	setups := 0
	setup := func(config *rest.Config) {
		setups++
		_, err := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default").Create(context.Background(),
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "changed"}, Data: map[string]string{"is": "as it was"}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		deleted := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "deleted"}}
		if _, err := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default").Create(context.Background(), deleted, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		maps := kubernetes.NewForConfigOrDie(Fresh(t, setup)).CoreV1().ConfigMaps("default")
		list, err := maps.List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, one := range list.Items {
			got[one.Name] = one.Data["is"]
		}
		if got["changed"] != "as it was" || len(got) != 2 || setups != 1 {
			t.Errorf("got %v after %d setups, want the ConfigMaps changed and deleted of one setup", got, setups)
		}
		list.Items[0].Data = map[string]string{"is": "another"}
		if _, err := maps.Update(t.Context(), &list.Items[0], metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := maps.Delete(t.Context(), list.Items[1].Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "new"}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestServersAreShared checks that subtests have their test's server, and tests that run at the
// same time different ones.
func TestServersAreShared(t *testing.T) {
	first := Start(t).Host
	t.Run("sub", func(t *testing.T) {
		if again := Start(t).Host; again != first {
			t.Errorf("got %s, want its test's %s", again, first)
		}
	})
	other, err := shared.take("another test")
	if err != nil || other.server.Config.Host == first {
		t.Fatalf("got %v (%v), want another server than %s", other, err, first)
	}
	shared.give(other)
	next, err := shared.take("the next test")
	if err != nil || next != other {
		t.Errorf("got %v (%v), want the server that was given back", next, err)
	}
	shared.give(next)
	if servers := len(shared.all); servers != 2 {
		t.Errorf("got %d servers, want 2", servers)
	}
}
