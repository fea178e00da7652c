package installed_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// clientSecret is the certificate for Cluster API as cert-manager stores it.
const clientSecret = `
apiVersion: v1
kind: Secret
metadata:
  name: capi-extension-client
  namespace: kubectl-upgrade-capi
  labels: {controller.cert-manager.io/fao: "true"}
  annotations: {cert-manager.io/certificate-name: capi-extension-client}
  ownerReferences: [{apiVersion: cert-manager.io/v1, kind: Certificate, name: capi-extension-client, uid: 5c2fa8e0-0000-4000-8000-000000000000}]
type: kubernetes.io/tls
stringData: {tls.crt: certificate, tls.key: key, ca.crt: authority}
`

// TestClusterAPIShowsACertificate runs the commands of docs/capi.md on Cluster API's own Deployments, again after they
// were replaced, and checks that the NetworkPolicy knows their namespaces.
func TestClusterAPIShowsACertificate(t *testing.T) {
	config := install(t)
	admin, _, _ := clients(t, config)
	policy := object("networking.k8s.io/v1", "NetworkPolicy", "kubectl-upgrade-capi", "capi-extension", nil)
	if err := admin.Get(t.Context(), client.ObjectKeyFromObject(policy), policy); err != nil {
		t.Fatal(err)
	}
	kubectl(t, config, clientSecret, "apply", "--server-side", "-f", "-")
	providers := map[string]*unstructured.Unstructured{}
	for name, folder := range map[string]string{"capi": "core", "capi-kubeadm-control-plane": "controlplane/kubeadm"} {
		namespace, deployment := clusterAPI(t, config, folder)
		if label := namespace.GetLabels()["cluster.x-k8s.io/provider"]; !strings.Contains(yamlOf(t, policy), "- "+label+"\n") {
			t.Errorf("the NetworkPolicy does not know the label %q of namespace %s:\n%s", label, namespace.GetName(), yamlOf(t, policy))
		}
		create(t, admin, namespace)
		providers[name] = deployment
	}
	for range 2 {
		for name, deployment := range providers {
			kubectl(t, config, yamlOf(t, deployment), "replace", "--force", "-f", "-")
			deployment = object("apps/v1", "Deployment", name+"-system", name+"-controller-manager", nil)
			if err := admin.Get(t.Context(), client.ObjectKeyFromObject(deployment), deployment); err != nil {
				t.Fatalf("Cluster API has no Deployment as docs/capi.md patches it: %v", err)
			}
		}
		runPage(t, config, "\n### Answer Cluster API alone\n")
	}
	want := map[string]string{"tls.crt": "certificate", "tls.key": "key", "ca.crt": "authority"}
	for name := range providers {
		secret := &corev1.Secret{}
		if err := admin.Get(t.Context(), client.ObjectKey{Namespace: name + "-system", Name: "capi-extension-client"}, secret); err != nil {
			t.Fatal(err)
		}
		for key, value := range want {
			if string(secret.Data[key]) != value || secret.Type != corev1.SecretTypeTLS || len(secret.OwnerReferences) > 0 {
				t.Errorf("%s: %s is %q, of a Secret of type %s that is owned by %v", name, key, secret.Data[key], secret.Type, secret.OwnerReferences)
			}
		}
		deployment := object("apps/v1", "Deployment", name+"-system", name+"-controller-manager", nil)
		if err := admin.Get(t.Context(), client.ObjectKeyFromObject(deployment), deployment); err != nil {
			t.Fatal(err)
		}
		text := yamlOf(t, deployment)
		for _, want := range []string{
			"- --leader-elect", "- --runtime-extension-client-cert-file=/etc/capi-extension-client/tls.crt", "- --runtime-extension-client-key-file=/etc/capi-extension-client/tls.key",
			"mountPath: /etc/capi-extension-client", "secretName: capi-extension-client", "secretName: " + name + "-webhook-service-cert",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q:\n%s", name, want, text)
			}
		}
	}
	extension := object("apps/v1", "Deployment", "kubectl-upgrade-capi", "capi-extension", nil)
	if err := admin.Get(t.Context(), client.ObjectKeyFromObject(extension), extension); err != nil {
		t.Fatal(err)
	}
	if text := yamlOf(t, extension); strings.Count(text, "- --client-ca=/etc/capi-extension-clients/ca.crt") != 1 || !strings.Contains(text, "mountPath: /etc/capi-extension-clients") {
		t.Errorf("the extension does not ask for the certificate:\n%s", text)
	}
}

// runPage runs the first block of commands below a heading of docs/capi.md, in a shell.
func runPage(t *testing.T, config *rest.Config, heading string) {
	t.Helper()
	page, err := os.ReadFile(root + "/docs/capi.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), heading)
	_, block, _ := strings.Cut(section, "\n```\n")
	block, _, found := strings.Cut(block, "\n```\n")
	if !found {
		t.Fatalf("docs/capi.md has no commands below %q", heading)
	}
	shell := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", block)
	shell.Dir = root
	shell.Env = append(os.Environ(), "PATH="+filepath.Dir(apitest.Path(t, "kubectl"))+":"+os.Getenv("PATH"), "KUBECONFIG="+apitest.Kubeconfig(t, config))
	if out, err := shell.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, block, out)
	}
}

// clusterAPI returns the namespace and the Deployment of a provider as Cluster API publishes them.
func clusterAPI(t *testing.T, config *rest.Config, provider string) (namespace, deployment *unstructured.Unstructured) {
	t.Helper()
	text, err := apitest.Kubectl(t, config, "kustomize", filepath.Join(folder(t, "sigs.k8s.io/cluster-api"), provider, "config", "default")).Output()
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
			t.Fatal(err)
		}
		switch o.GetKind() {
		case "Namespace":
			namespace = o
		case "Deployment":
			deployment = o
		}
	}
	if namespace == nil || deployment == nil {
		t.Fatalf("%s has no Namespace or no Deployment", provider)
	}
	return namespace, deployment
}

func yamlOf(t *testing.T, o *unstructured.Unstructured) string {
	t.Helper()
	text, err := yaml.Marshal(o.Object)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
