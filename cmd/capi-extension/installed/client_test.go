package installed_test

import (
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// TestClusterAPIShowsACertificate patches Cluster API's own Deployments as docs/capi.md does, and checks that the
// NetworkPolicy knows their namespaces.
func TestClusterAPIShowsACertificate(t *testing.T) {
	config := install(t)
	admin, _, _ := clients(t, config)
	policy := object("networking.k8s.io/v1", "NetworkPolicy", "kubectl-upgrade-capi", "capi-extension", nil)
	if err := admin.Get(t.Context(), client.ObjectKeyFromObject(policy), policy); err != nil {
		t.Fatal(err)
	}
	for _, provider := range []struct{ folder, name string }{{"core", "capi"}, {"controlplane/kubeadm", "capi-kubeadm-control-plane"}} {
		namespace, deployment := clusterAPI(t, config, provider.folder)
		if namespace.GetName() != provider.name+"-system" || deployment.GetName() != provider.name+"-controller-manager" || deployment.GetNamespace() != namespace.GetName() {
			t.Errorf("Cluster API has Deployment %s/%s, which docs/capi.md does not patch", deployment.GetNamespace(), deployment.GetName())
		}
		if label := namespace.GetLabels()["cluster.x-k8s.io/provider"]; !strings.Contains(yamlOf(t, policy), "- "+label+"\n") {
			t.Errorf("the NetworkPolicy does not know the label %q of namespace %s:\n%s", label, namespace.GetName(), yamlOf(t, policy))
		}
		create(t, admin, namespace)
		create(t, admin, deployment)
		kubectl(t, config, "", "patch", "deployment", "-n", namespace.GetName(), deployment.GetName(), "--type", "json", "--patch-file", root+"/manifests/clusterapi/client-certificate.yaml")
		if err := admin.Get(t.Context(), client.ObjectKeyFromObject(deployment), deployment); err != nil {
			t.Fatal(err)
		}
		text := yamlOf(t, deployment)
		for _, want := range []string{
			"- --leader-elect", "- --runtime-extension-client-cert-file=/etc/capi-extension-client/tls.crt", "- --runtime-extension-client-key-file=/etc/capi-extension-client/tls.key",
			"mountPath: /etc/capi-extension-client", "secretName: capi-extension-client", "secretName: " + provider.name + "-webhook-service-cert",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q:\n%s", deployment.GetName(), want, text)
			}
		}
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
