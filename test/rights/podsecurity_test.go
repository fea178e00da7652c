package rights_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
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

// TestHooksAreNotRootOnNodes creates the pods of hooks' Jobs in their namespace: those of docs/gates.md are accepted,
// and none that could leave its container. What refuses is the level of manifests/hooks.
func TestHooksAreNotRootOnNodes(t *testing.T) {
	config := install(t)
	var recipe batchv1.CronJob
	page, err := os.ReadFile(filepath.Join(apitest.Root(t), "docs", "gates.md"))
	if err == nil {
		block := regexp.MustCompile("(?s)<!-- recipe: leave -->\n```yaml\n(.*?)```").FindSubmatch(page)
		err = yaml.UnmarshalStrict(block[1], &recipe)
	}
	if err != nil {
		t.Fatal(err)
	}
	pod := recipe.Spec.JobTemplate.Spec.Template.Spec
	backup := pod.DeepCopy() // "with a volume at /backup"
	backup.Volumes = []corev1.Volume{{Name: "backup", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "backup"}}}}
	backup.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "backup", MountPath: "/backup"}}
	for name, spec := range map[string]corev1.PodSpec{"of the recipe": pod, "with a volume": *backup} {
		if got := refusal(t, config, v1alpha1.HooksNamespace, spec); got != "" {
			t.Errorf("the pod %s is refused: %s", name, got)
		}
	}
	for name, change := range map[string]func(*corev1.PodSpec){
		"privileged": func(p *corev1.PodSpec) {
			p.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: ptr.To(true)}
		},
		"privileged before": func(p *corev1.PodSpec) {
			p.InitContainers = []corev1.Container{{Name: "i", Image: "x", SecurityContext: &corev1.SecurityContext{Privileged: ptr.To(true)}}}
		},
		"capability": func(p *corev1.PodSpec) {
			p.Containers[0].SecurityContext = &corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"SYS_ADMIN"}}}
		},
		"host's folder": func(p *corev1.PodSpec) {
			p.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}}}
		},
		"host's processes": func(p *corev1.PodSpec) { p.HostPID = true },
		"host's network":   func(p *corev1.PodSpec) { p.HostNetwork = true },
		"host's port": func(p *corev1.PodSpec) {
			p.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80}}
		},
		"unconfined": func(p *corev1.PodSpec) {
			p.SecurityContext = &corev1.PodSecurityContext{SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeUnconfined}}
		},
	} {
		spec := pod.DeepCopy()
		change(spec)
		if got := refusal(t, config, v1alpha1.HooksNamespace, *spec); !strings.Contains(got, `violates PodSecurity "baseline:latest"`) {
			t.Errorf("a pod of a hook's Job may be %s: %q", name, got)
		}
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
	message := refusal(t, config, namespace, spec)
	_, list, refused := strings.Cut(message, `violates PodSecurity "restricted:latest": `)
	switch {
	case message == "":
		return nil
	case !refused:
		t.Fatal(message)
	}
	var found []string
	for _, violation := range strings.Split(list, "), ") {
		found = append(found, strings.TrimSuffix(violation, ")")+")")
	}
	slices.Sort(found)
	return found
}

// refusal creates the pod in the namespace and returns why not.
func refusal(t *testing.T, config *rest.Config, namespace string, spec corev1.PodSpec) string {
	t.Helper()
	text, err := json.Marshal(corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "pod-"}, Spec: spec})
	if err != nil {
		t.Fatal(err)
	}
	code, message := administrator(t, config).send(t, http.MethodPost, try{at: core + "/namespaces/" + namespace + "/pods"}, string(text))
	if code == http.StatusCreated {
		return ""
	}
	return fmt.Sprintf("%d: %s", code, message)
}
