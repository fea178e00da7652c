// Package installed_test installs manifests/clusterapi on a real API server that has Cluster API's CRDs,
// and checks what the identities there may do, and what is refused. One server is both clusters.
package installed_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/cluster-api/util/annotations" // so that go.mod has the module with the CRDs
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/cmd/capi-extension/management"
	"github.com/kubectl-upgrade/kubectl-upgrade/cmd/capi-extension/workload"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

var _ = annotations.HasSkipRemediation

const (
	root = "../../.."
	// extensionAccount is the extension in the management cluster.
	extensionAccount = "system:serviceaccount:kubectl-upgrade-capi:capi-extension"
	// in has the label for upgrades in place, and the extension may read its Secrets; out has neither.
	in, out = "machines", "default"
)

func TestMain(m *testing.M) { apitest.Main(m) }

var installed sync.Once

// install returns the API server with everything on it.
func install(t *testing.T) *rest.Config {
	t.Helper()
	config := apitest.Start(t)
	installed.Do(func() {
		capi := folder(t, "sigs.k8s.io/cluster-api")
		for _, crd := range []string{
			"core/config/crd/bases/cluster.x-k8s.io_clusters.yaml", "core/config/crd/bases/cluster.x-k8s.io_machines.yaml",
			"core/config/crd/bases/cluster.x-k8s.io_machinesets.yaml", "core/config/crd/bases/cluster.x-k8s.io_machinedeployments.yaml",
			"core/config/crd/bases/runtime.cluster.x-k8s.io_extensionconfigs.yaml",
			"controlplane/kubeadm/config/crd/bases/controlplane.cluster.x-k8s.io_kubeadmcontrolplanes.yaml",
		} {
			kubectl(t, config, "", "apply", "--server-side", "-f", filepath.Join(capi, crd))
		}
		kubectl(t, config, "", "wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
		kubectl(t, config, "", "apply", "--server-side", "-k", root+"/manifests/crd")
		kubectl(t, config, "", "wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
		kubectl(t, config, "", "apply", "--server-side", "-k", root+"/manifests")
		kubectl(t, config, "", "apply", "--server-side", "-k", root+"/manifests/clusterapi/workload")
		kubectl(t, config, withoutCertManager(t, config), "apply", "--server-side", "-f", "-")
		kubectl(t, config, fmt.Sprintf(`
apiVersion: v1
kind: Namespace
metadata: {name: %[1]s, labels: {kubectl-upgrade.dev/in-place: "true"}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: kubectl-upgrade-capi-kubeconfigs, namespace: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: kubectl-upgrade-capi-kubeconfigs}
subjects: [{kind: ServiceAccount, name: capi-extension, namespace: kubectl-upgrade-capi}]
---
apiVersion: kubectl-upgrade.dev/v1alpha1
kind: UpgradePolicy
metadata: {name: cluster}
spec: {mode: Manage, versionsFrom: ClusterAPI}
`, in), "apply", "--server-side", "-f", "-")
		awaitPolicies(t, config)
	})
	return config
}

// folder returns where the source of a module is.
func folder(t *testing.T, module string) string {
	t.Helper()
	path, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		t.Fatalf("looking for the source of %s: %v", module, err)
	}
	return strings.TrimSpace(string(path))
}

// withoutCertManager builds the management cluster's objects, but for cert-manager's, whose kinds this
// server does not have.
func withoutCertManager(t *testing.T, config *rest.Config) string {
	t.Helper()
	text, err := apitest.Kubectl(t, config, "kustomize", root+"/manifests/clusterapi/management").Output()
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for _, document := range strings.Split(string(text), "\n---\n") {
		if !strings.Contains(document, "apiVersion: cert-manager.io/") {
			kept = append(kept, document)
		}
	}
	return strings.Join(kept, "\n---\n")
}

func kubectl(t *testing.T, config *rest.Config, input string, args ...string) {
	t.Helper()
	cmd := apitest.Kubectl(t, config, args...)
	cmd.Stdin = strings.NewReader(input)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// awaitPolicies waits until each policy refuses: they take effect a moment after they were created.
func awaitPolicies(t *testing.T, config *rest.Config) {
	t.Helper()
	admin, extension, asked := clients(t, config)
	kcp, md, machine := controlPlane(in, "await"), deployment(in, "await"), machine("await")
	for _, object := range []*unstructured.Unstructured{kcp, md, machine} {
		create(t, admin, object)
	}
	probes := map[string]func() error{
		"control planes": func() error {
			return patch(t, admin, kcp, `{"spec":{"version":"v1.34.4","replicas":1}}`)
		},
		"workers": func() error {
			return patch(t, admin, md, `{"spec":{"template":{"spec":{"version":"v1.34.4"}},"rollout":{"strategy":{"rollingUpdate":{"maxSurge":1}}}}}`)
		},
		"the extension": func() error { return patch(t, extension, machine, `{"metadata":{"labels":{"x":"y"}}}`) },
		"the extension in the workload cluster": func() error {
			return asked.Create(t.Context(), object("kubectl-upgrade.dev/v1alpha1", "ClusterUpgrade", "", "await", map[string]any{"type": "Reboot"}), client.DryRunAll)
		},
	}
	for name, refused := range probes {
		for i := 0; refused() == nil; i++ {
			if i == 200 {
				t.Fatalf("the policy for %s refuses nothing", name)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
}

// clients returns clients of an administrator, of the extension in the management cluster, and of the
// extension in the workload cluster.
func clients(t *testing.T, config *rest.Config) (admin, extension, asked client.WithWatch) {
	t.Helper()
	as := func(name string, groups ...string) client.WithWatch {
		theirs := rest.CopyConfig(config)
		if name != "" {
			theirs.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: append(groups, "system:authenticated", "system:serviceaccounts")}
		}
		made, err := client.NewWithWatch(theirs, client.Options{Scheme: management.Scheme()})
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	return as(""), as(extensionAccount), as(workload.Account)
}

func object(apiVersion, kind, namespace, name string, spec map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind, "spec": spec}}
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

// parse reads the spec of an object.
func parse(text string) map[string]any {
	var spec map[string]any
	if err := yaml.Unmarshal([]byte(text), &spec); err != nil {
		panic(err)
	}
	return spec
}

func controlPlane(namespace, name string) *unstructured.Unstructured {
	return object("controlplane.cluster.x-k8s.io/v1beta2", "KubeadmControlPlane", namespace, name, parse(`
version: v1.34.3
replicas: 3
kubeadmConfigSpec: {format: ignition}
rollout: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 0}}}
machineTemplate: {spec: {infrastructureRef: {apiGroup: infrastructure.example.org, kind: ExampleMachineTemplate, name: x}}}
`))
}

func deployment(namespace, name string) *unstructured.Unstructured {
	return object("cluster.x-k8s.io/v1beta2", "MachineDeployment", namespace, name, parse(`
clusterName: prod
replicas: 3
selector: {matchLabels: {a: b}}
rollout: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}}
template:
  metadata: {labels: {a: b}}
  spec:
    clusterName: prod
    version: v1.34.3
    bootstrap: {dataSecretName: x}
    infrastructureRef: {apiGroup: infrastructure.example.org, kind: ExampleMachineTemplate, name: x}
`))
}

func machine(name string) *unstructured.Unstructured {
	m := object("cluster.x-k8s.io/v1beta2", "Machine", in, name, parse(`
clusterName: prod
version: v1.34.3
bootstrap: {dataSecretName: x}
infrastructureRef: {apiGroup: infrastructure.example.org, kind: ExampleMachine, name: x}
`))
	m.SetLabels(map[string]string{"cluster.x-k8s.io/cluster-name": "prod", "cluster.x-k8s.io/deployment-name": "workers"})
	return m
}

func create(t *testing.T, c client.Client, o client.Object) {
	t.Helper()
	if err := c.Create(t.Context(), o); err != nil {
		t.Fatalf("creating %s: %v", o.GetName(), err)
	}
	t.Cleanup(func() {
		if err := c.Delete(context.Background(), o); err != nil && !apierrors.IsNotFound(err) {
			t.Errorf("deleting %s: %v", o.GetName(), err)
		}
	})
}

// patch tries a merge patch, and changes nothing.
func patch(t *testing.T, c client.Client, o *unstructured.Unstructured, text string) error {
	t.Helper()
	return c.Patch(t.Context(), o.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(text)), client.DryRunAll)
}

// kubeconfig is the Secret by which the extension reaches a workload cluster, as Cluster API writes it.
func kubeconfig(t *testing.T, config *rest.Config, namespace, cluster string) *corev1.Secret {
	t.Helper()
	ca, err := os.ReadFile(config.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	data, err := clientcmd.Write(api.Config{
		Clusters:       map[string]*api.Cluster{cluster: {Server: config.Host, CertificateAuthorityData: ca}},
		AuthInfos:      map[string]*api.AuthInfo{"admin": {Token: config.BearerToken}},
		Contexts:       map[string]*api.Context{cluster: {Cluster: cluster, AuthInfo: "admin"}},
		CurrentContext: cluster,
	})
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: cluster + "-kubeconfig"}, Data: map[string][]byte{"value": data}}
}
