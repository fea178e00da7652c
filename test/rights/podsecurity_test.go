package rights_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// exceptions are the privileges of each pod beyond the level "restricted". The manifest justifies
// each one beside its field.
var exceptions = map[string][]string{
	// The node's network. Nothing else.
	"coordinator": {"host namespaces (hostNetwork=true)"},
	// The node's network, four folders of the host, root's number without any of its
	// capabilities, and no AppArmor between it and the system bus.
	"node-agent": {
		`forbidden AppArmor profile (pod must not set AppArmor profile type to "Unconfined")`,
		"host namespaces (hostNetwork=true)",
		`restricted volume types (volumes "system-bus", "shared", "kubelet-conf", "kubelet-pki" use restricted volume type "hostPath")`,
		`runAsNonRoot != true (pod or container "node-agent" must set securityContext.runAsNonRoot=true)`,
		`runAsUser=0 (container "node-agent" must not set runAsUser=0)`,
	},
}

// TestPodsViolateOnlyListedPolicies checks that pods violate the level "restricted" only in the
// listed ways. The namespace's level is privileged, as every other refuses hostPath.
func TestPodsViolateOnlyListedPolicies(t *testing.T) {
	config := install(t)
	client := kubernetes.NewForConfigOrDie(config)
	daemonSet, err := client.AppsV1().DaemonSets("kubectl-upgrade").Get(t.Context(), "node-agent", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	deployment, err := client.AppsV1().Deployments("kubectl-upgrade").Get(t.Context(), "coordinator", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	restricted := createNamespace(t, config, "restricted")
	for name, spec := range map[string]corev1.PodSpec{"node-agent": daemonSet.Spec.Template.Spec, "coordinator": deployment.Spec.Template.Spec} {
		got := violations(t, config, restricted, spec)
		if diff := cmp.Diff(exceptions[name], got); diff != "" {
			t.Errorf("violations of %s (-want +got):\n%s", name, diff)
		}
	}
	// The coordinator would be restricted but for the node's network.
	spec := *deployment.Spec.Template.Spec.DeepCopy()
	spec.HostNetwork = false
	if got := violations(t, config, restricted, spec); got != nil {
		t.Errorf("the coordinator without the node's network violates %q", got)
	}
	if got := violations(t, config, "kubectl-upgrade", daemonSet.Spec.Template.Spec); got != nil {
		t.Errorf("the agent in its own namespace violates %q", got)
	}
}

func createNamespace(t *testing.T, config *rest.Config, level string) string {
	t.Helper()
	name := "level-" + level
	_, err := kubernetes.NewForConfigOrDie(config).CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{"pod-security.kubernetes.io/enforce": level},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// violations creates the pod in the namespace and returns what its level refuses.
func violations(t *testing.T, config *rest.Config, namespace string, spec corev1.PodSpec) []string {
	t.Helper()
	text, err := json.Marshal(corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod"}, Spec: spec})
	if err != nil {
		t.Fatal(err)
	}
	code, message := administrator(t, config).send(t, http.MethodPost, try{at: core + "/namespaces/" + namespace + "/pods"}, string(text))
	_, list, refused := strings.Cut(message, `violates PodSecurity "restricted:latest": `)
	switch {
	case code == http.StatusCreated:
		return nil
	case !refused:
		t.Fatalf("%d: %s", code, message)
	}
	var found []string
	for _, violation := range strings.Split(list, "), ") {
		found = append(found, strings.TrimSuffix(violation, ")")+")")
	}
	slices.Sort(found)
	return found
}
