package secret_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/secret"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

func TestMain(m *testing.M) { apitest.Main(m) }

// TestRead reads Secrets with the rights that the manifests give the coordinator: none, until
// what the problem's fix says is done, word for word.
func TestRead(t *testing.T) {
	config := apitest.Start(t)
	apitest.InstallCRDs(t, config)
	for _, manifests := range [][]string{{"-f", "../../../manifests/namespace.yaml"}, {"-k", "../../../manifests/coordinator"}} {
		apply(t, config, "", manifests...)
	}
	admin := kubernetes.NewForConfigOrDie(config)
	coordinator := kubernetes.NewForConfigOrDie(as(config, "system:serviceaccount:kubectl-upgrade:coordinator"))
	read := func(name string) (string, *secret.Problem) {
		value, err := secret.Read(t.Context(), coordinator.CoreV1(), v1alpha1.SecretKeyReference{Name: name, Key: v1alpha1.URLKey})
		var problem *secret.Problem
		if err != nil && !errors.As(err, &problem) {
			t.Fatalf("%s: %T is no *Problem: %v", name, err, err)
		}
		if problem != nil && strings.Contains(problem.Error(), "\n") {
			t.Errorf("%s: the error has more than one line: %s", name, problem)
		}
		return value, problem
	}
	create := func(name string, data map[string]string) {
		t.Helper()
		made := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: data}
		if _, err := admin.CoreV1().Secrets(v1alpha1.Namespace).Create(t.Context(), made, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	create("chat", map[string]string{"url": "slack://token@channel\n"})
	create("other", map[string]string{"url": "slack://token@channel"})

	_, problem := read("chat")
	if problem == nil || problem.Reason != secret.ReasonForbidden || !strings.Contains(problem.Explain(), "resourceNames: [chat]") {
		t.Fatalf("without a Role: got %+v", problem)
	}
	apply(t, config, problem.Fix, "-f", "-")
	value := ""
	for deadline := time.Now().Add(20 * time.Second); value == "" && time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		value, problem = read("chat")
	}
	if value != "slack://token@channel" {
		t.Fatalf("with the Role of the fix: got %q, %v", value, problem)
	}
	if _, problem := read("other"); problem == nil || problem.Reason != secret.ReasonForbidden {
		t.Errorf("the Role is for another Secret: got %+v", problem)
	}
	if _, err := coordinator.CoreV1().Secrets(v1alpha1.Namespace).List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("listing Secrets with the Role: got %v, want Forbidden", err)
	}

	if err := admin.CoreV1().Secrets(v1alpha1.Namespace).Delete(t.Context(), "chat", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, problem := read("chat"); problem == nil || problem.Reason != secret.ReasonNotFound || !strings.Contains(problem.Fix, "create secret generic chat --from-literal=url=") {
		t.Errorf("without the Secret: got %+v", problem)
	}
	for _, data := range []map[string]string{{"password": "hunter2"}, {"url": " \n", "password": "hunter2"}} {
		create("chat", data)
		_, problem := read("chat")
		if problem == nil || problem.Reason != secret.ReasonKeyMissing || strings.Contains(problem.Explain(), "hunter2") {
			t.Errorf("%q: got %+v", data, problem)
		}
		if err := admin.CoreV1().Secrets(v1alpha1.Namespace).Delete(t.Context(), "chat", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

func as(config *rest.Config, user string) *rest.Config {
	config = rest.CopyConfig(config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	return config
}

func apply(t *testing.T, config *rest.Config, input string, args ...string) {
	t.Helper()
	command := apitest.Kubectl(t, config, append([]string{"apply"}, args...)...)
	command.Stdin = strings.NewReader(input)
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("kubectl apply %s: %v\n%s", args, err, out)
	}
}
