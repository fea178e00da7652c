package main

import (
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/cli"
	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/internal/apitest"
)

// release is the release "ku" in the namespace default of a real API server.
type release struct {
	t      *testing.T
	config *rest.Config
}

func newRelease(t *testing.T) release {
	t.Helper()
	return release{t: t, config: apitest.Start(t)}
}

// action returns what an action needs. Each has its own, as each call of helm does: it
// remembers which kinds the server serves.
func (r release) action() *action.Configuration {
	r.t.Helper()
	configuration := new(action.Configuration)
	settings := cli.New()
	settings.KubeConfig = apitest.Kubeconfig(r.t, r.config)
	if err := configuration.Init(settings.RESTClientGetter(), "default", "secret", func(string, ...any) {}); err != nil {
		r.t.Fatal(err)
	}
	return configuration
}

func (r release) values(text string) chartutil.Values {
	r.t.Helper()
	values, err := chartutil.ReadValues([]byte(text))
	if err != nil {
		r.t.Fatal(err)
	}
	return values
}

func (r release) install(c *chart.Chart, values string) {
	r.t.Helper()
	install := action.NewInstall(r.action())
	install.ReleaseName, install.Namespace = "ku", "default"
	if _, err := install.Run(c, r.values(values)); err != nil {
		r.t.Fatalf("helm install: %v", err)
	}
}

func (r release) upgrade(c *chart.Chart, values string, options ...func(*action.Upgrade)) error {
	r.t.Helper()
	upgrade := action.NewUpgrade(r.action())
	upgrade.Namespace = "default"
	for _, option := range options {
		option(upgrade)
	}
	_, err := upgrade.Run("ku", c, r.values(values))
	return err
}

func (r release) uninstall() {
	r.t.Helper()
	if _, err := action.NewUninstall(r.action()).Run("ku"); err != nil {
		r.t.Fatalf("helm uninstall: %v", err)
	}
}

// field returns what kubectl prints for a JSONPath of an object.
func (r release) field(object, path string) string {
	r.t.Helper()
	return kubectl(r.t, r.config, "get", object, "--ignore-not-found", "-o", "jsonpath={"+path+"}")
}

// TestReleaseKeepsObjects checks that `helm upgrade` changes CRDs, and that neither it nor
// `helm uninstall` deletes an object of their kinds; and that one can install again.
func TestReleaseKeepsObjects(t *testing.T) {
	r := newRelease(t)
	r.install(load(t), "")
	kubectl(t, r.config, "apply", "-f", file(t, `
apiVersion: kubectl-upgrade.dev/v1alpha1
kind: ClusterUpgrade
metadata: {name: kept}
spec: {version: v1.35.4}
`))
	uid := r.field("clusterupgrade/kept", ".metadata.uid")

	const crd = "crd/clusterupgrades.kubectl-upgrade.dev"
	const names = ".spec.names.shortNames"
	if err := r.upgrade(changed(t), ""); err != nil {
		t.Fatalf("helm upgrade: %v", err)
	}
	if got := r.field(crd, names); !strings.Contains(got, "changed") {
		t.Errorf("after helm upgrade the short names of the CRD are %s", got)
	}
	if got := r.field("clusterupgrade/kept", ".metadata.uid"); got != uid {
		t.Errorf("after helm upgrade the ClusterUpgrade's UID is %q, want %q", got, uid)
	}

	r.uninstall()
	if got := r.field("clusterupgrade/kept", ".metadata.uid"); got != uid {
		t.Errorf("after helm uninstall the ClusterUpgrade's UID is %q, want %q", got, uid)
	}
	for _, gone := range []string{"clusterrole/kubectl-upgrade-coordinator", "validatingadmissionpolicy/kubectl-upgrade-requested-by"} {
		if name := r.field(gone, ".metadata.name"); name != "" {
			t.Errorf("helm uninstall left %s", gone)
		}
	}

	// This server has no controller that finishes the deletion of the namespace.
	kubectl(t, r.config, "replace", "--raw", "/api/v1/namespaces/kubectl-upgrade/finalize", "-f", file(t, `{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kubectl-upgrade"}}`))
	r.install(load(t), "")
	if got := r.field("clusterupgrade/kept", ".metadata.uid"); got != uid {
		t.Errorf("after the second helm install the ClusterUpgrade's UID is %q, want %q", got, uid)
	}
	if got := r.field(crd, names); strings.Contains(got, "changed") {
		t.Errorf("after the second helm install the short names of the CRD are %s", got)
	}
}

// changed returns the chart with another short name of ClusterUpgrades.
func changed(t *testing.T) *chart.Chart {
	t.Helper()
	c := load(t)
	for _, file := range c.Files {
		if file.Name == "manifests/crd/kubectl-upgrade.dev_clusterupgrades.yaml" {
			file.Data = []byte(strings.Replace(string(file.Data), "    shortNames:\n", "    shortNames:\n    - changed\n", 1))
			return c
		}
	}
	t.Fatal("the chart has no CRD of ClusterUpgrades")
	return nil
}

// TestReleasePolicy checks that the chart creates an UpgradePolicy together with its CRD,
// changes it, and leaves it in place.
func TestReleasePolicy(t *testing.T) {
	const (
		policy = "upgradepolicy/cluster"
		url    = ".spec.source.url"
		first  = "upgradePolicy: {create: true, spec: {source: {url: 'https://first.example.com/'}}}"
		second = "upgradePolicy: {create: true, spec: {source: {url: 'https://second.example.com/'}}}"
	)
	r := newRelease(t)
	r.install(load(t), first)
	if got := r.field(policy, url); got != "https://first.example.com/" {
		t.Errorf("after helm install the source is %q", got)
	}
	uid := r.field(policy, ".metadata.uid")
	for _, want := range []string{"second", "first"} {
		if err := r.upgrade(load(t), map[string]string{"first": first, "second": second}[want]); err != nil {
			t.Fatalf("helm upgrade: %v", err)
		}
		if got := r.field(policy, url); got != "https://"+want+".example.com/" {
			t.Errorf("after helm upgrade the source is %q, want the %s", got, want)
		}
	}
	if err := r.upgrade(load(t), ""); err != nil {
		t.Fatalf("helm upgrade: %v", err)
	}
	r.uninstall()
	if got := r.field(policy, ".metadata.uid"); got != uid {
		t.Errorf("the policy's UID is %q, want %q: it was deleted", got, uid)
	}
}

// TestReleaseTakesPolicy checks that the chart takes over a policy that the coordinator or a
// person has created only if Helm is told to.
func TestReleaseTakesPolicy(t *testing.T) {
	const values = "upgradePolicy: {create: true, spec: {source: {url: 'https://mirror.example.com/'}}}"
	r := newRelease(t)
	r.install(load(t), "")
	kubectl(t, r.config, "apply", "--server-side", "-f", file(t, `
apiVersion: kubectl-upgrade.dev/v1alpha1
kind: UpgradePolicy
metadata: {name: cluster}
`))
	if err := r.upgrade(load(t), values); err == nil || !strings.Contains(err.Error(), "cannot be imported into the current release") {
		t.Errorf("helm upgrade: got %v, want a refusal", err)
	}
	if err := r.upgrade(load(t), values, func(u *action.Upgrade) { u.TakeOwnership = true }); err != nil {
		t.Fatalf("helm upgrade --take-ownership: %v", err)
	}
	if got := r.field("upgradepolicy/cluster", ".spec.source.url"); got != "https://mirror.example.com/" {
		t.Errorf("the source is %q", got)
	}
}
