package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

func TestMain(m *testing.M) { apitest.Main(m) }

// freshServer returns an API server with nothing of ours. The test runs beside others.
func freshServer(t *testing.T) *rest.Config {
	t.Helper()
	t.Parallel()
	return apitest.Fresh(t, func(*rest.Config) {})
}

// TestServerAccepts asks a real API server to accept all objects: those of manifests/ with all
// components, and those of the chart with all values. KUBE_ASSETS selects the server's version.
func TestServerAccepts(t *testing.T) {
	config := freshServer(t)
	t.Log(kubectl(t, config, "version"))
	values := mirror("own")
	for _, component := range allComponents(t) {
		values += "\n" + componentValues[component]
	}
	text, err := render(t, load(t), "default", values)
	if err != nil {
		t.Fatal(err)
	}
	manifests := built(t, allComponents(t)...)

	// A dry run creates neither the namespaces nor the kinds that later objects need.
	kubectl(t, config, "apply", "--server-side", "-f", root+"/manifests/namespace.yaml", "-f", root+"/manifests/hooks/namespace.yaml")
	kubectl(t, config, "apply", "--server-side", "-k", root+"/manifests/crd")
	for name, text := range map[string]string{"manifests": manifests, "chart": text} {
		text = withoutOperator(text)
		out := kubectl(t, config, "apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", file(t, text))
		if count := strings.Count(out, "serverside-applied (server dry run)"); count != len(parse(t, text)) || strings.Contains(out, "Warning") {
			t.Errorf("%s: %d of %d objects were accepted without a warning:\n%s", name, count, len(parse(t, text)), out)
		}
	}
}

// withoutOperator removes the objects for the Prometheus operator, whose kinds this server does
// not have.
func withoutOperator(text string) string {
	documents := slices.DeleteFunc(strings.Split(text, "\n---\n"), func(document string) bool {
		return strings.Contains(document, "apiVersion: monitoring.coreos.com/")
	})
	return strings.Join(documents, "\n---\n")
}

// TestKustomize runs the commands of docs/install.md for kustomize.
func TestKustomize(t *testing.T) {
	config := freshServer(t)
	out := kubectl(t, config, "apply", "--server-side", "-k", root+"/manifests")
	if count := strings.Count(out, "serverside-applied"); count != len(parse(t, built(t))) {
		t.Errorf("%d objects were applied:\n%s", count, out)
	}
}

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "objects.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// kubectl returns what kubectl printed.
func kubectl(t *testing.T, config *rest.Config, args ...string) string {
	t.Helper()
	out, err := apitest.Kubectl(t, config, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}
