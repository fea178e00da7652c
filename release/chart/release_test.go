package main

import (
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/cli"
	"helm.sh/helm/v4/pkg/kube"
	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// release is the release of docs/install.md on a real API server.
type release struct {
	t      *testing.T
	config *rest.Config
}

func newRelease(t *testing.T) release {
	t.Helper()
	return release{t: t, config: freshServer(t)}
}

// action returns what an action needs. Each has its own, as each call of helm does: it
// remembers which kinds the server serves.
func (r release) action() *action.Configuration {
	r.t.Helper()
	configuration := action.NewConfiguration()
	settings := cli.New()
	settings.KubeConfig = apitest.Kubeconfig(r.t, r.config)
	if err := configuration.Init(settings.RESTClientGetter(), releaseNamespace, "secret"); err != nil {
		r.t.Fatal(err)
	}
	return configuration
}

func (r release) values(text string) common.Values {
	r.t.Helper()
	values, err := common.ReadValues([]byte(text))
	if err != nil {
		r.t.Fatal(err)
	}
	return values
}

func (r release) install(values string, options ...func(*action.Install)) error {
	r.t.Helper()
	install := action.NewInstall(r.action())
	install.ReleaseName, install.Namespace, install.CreateNamespace = releaseName, releaseNamespace, true
	install.WaitStrategy = kube.HookOnlyStrategy
	for _, option := range options {
		option(install)
	}
	_, err := install.Run(load(r.t), r.values(values))
	return err
}

func (r release) upgrade(c *chart.Chart, values string, options ...func(*action.Upgrade)) error {
	r.t.Helper()
	upgrade := action.NewUpgrade(r.action())
	upgrade.Namespace, upgrade.WaitStrategy = releaseNamespace, kube.HookOnlyStrategy
	for _, option := range options {
		option(upgrade)
	}
	_, err := upgrade.Run(releaseName, c, r.values(values))
	return err
}

func (r release) uninstall() error {
	r.t.Helper()
	uninstall := action.NewUninstall(r.action())
	uninstall.WaitStrategy = kube.HookOnlyStrategy
	_, err := uninstall.Run(releaseName)
	return err
}

// must fails the test on an error of a command.
func (r release) must(command string, err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatalf("helm %s: %v", command, err)
	}
}

// field returns what kubectl prints for a JSONPath of an object.
func (r release) field(object, path string) string {
	r.t.Helper()
	return kubectl(r.t, r.config, append([]string{"get", "--ignore-not-found", "-o", "jsonpath={" + path + "}"}, strings.Fields(object)...)...)
}

// expect checks what kubectl prints for a JSONPath of an object.
func (r release) expect(when, object, path, want string) {
	r.t.Helper()
	if got := r.field(object, path); got != want {
		r.t.Errorf("after %s %s of %s is %q, want %q", when, path, object, got, want)
	}
}

const (
	crd     = "crd/clusterupgrades.kubectl-upgrade.dev"
	upgrade = "clusterupgrade/kept"
	policy  = "upgradepolicy/cluster"
	uid     = ".metadata.uid"
	url     = ".spec.source.url"
)

// TestReleaseKeepsObjects checks that `helm upgrade` changes CRDs, that neither it nor `helm
// uninstall` deletes an object of their kinds, and that the chart can be installed again.
func TestReleaseKeepsObjects(t *testing.T) {
	r := newRelease(t)
	r.must("install", r.install(""))
	kubectl(t, r.config, "apply", "-f", file(t, `
apiVersion: kubectl-upgrade.dev/v1alpha1
kind: ClusterUpgrade
metadata: {name: kept}
spec: {version: v1.35.4}
`))
	kept := r.field(upgrade, uid)
	before := r.field(crd, ".spec.names.shortNames")

	r.must("upgrade", r.upgrade(changed(t), ""))
	if got := r.field(crd, ".spec.names.shortNames"); !strings.Contains(got, "changed") {
		t.Errorf("after helm upgrade the short names of the CRD are %s", got)
	}
	r.expect("helm upgrade", upgrade, uid, kept)

	r.must("uninstall", r.uninstall())
	r.expect("helm uninstall", upgrade, uid, kept)
	left := kubectl(t, r.config, "get", "clusterroles,clusterrolebindings,validatingadmissionpolicies,validatingadmissionpolicybindings", "-o", "name") +
		kubectl(t, r.config, "get", "all,serviceaccounts,roles,rolebindings", "-A", "-o", "name")
	if strings.Contains(left, "/kubectl-upgrade") || strings.Contains(left, "/node-agent") || strings.Contains(left, "/coordinator") {
		t.Errorf("helm uninstall left\n%s", left)
	}

	r.must("install", r.install(""))
	r.expect("the second helm install", upgrade, uid, kept)
	r.expect("the second helm install", crd, ".spec.names.shortNames", before)

	r.must("uninstall", r.uninstall())
	ours := slices.DeleteFunc(strings.Fields(kubectl(t, r.config, "get", "crd", "-o", "name")), func(name string) bool {
		return !strings.HasSuffix(name, ".kubectl-upgrade.dev")
	})
	kubectl(t, r.config, append([]string{"delete", "--timeout=5m"}, ours...)...)
	if left := kubectl(t, r.config, "api-resources", "--api-group=kubectl-upgrade.dev", "-o", "name"); left != "" {
		t.Errorf("left are %s", left)
	}
}

// changed returns the chart with another short name of ClusterUpgrades.
func changed(t *testing.T) *chart.Chart {
	t.Helper()
	c := load(t)
	for _, file := range c.Files {
		before := string(file.Data)
		file.Data = []byte(strings.Replace(before, "    - kucu\n", "    - kucu\n    - changed\n", 1))
		if string(file.Data) != before {
			return c
		}
	}
	t.Fatal("the chart has no CRD of ClusterUpgrades")
	return nil
}

func mirror(name string) string {
	return "upgradePolicy: {create: true, spec: {source: {url: 'https://" + name + ".example.com/'}}}"
}

func takeOwnership(i *action.Install) { i.TakeOwnership, i.ForceConflicts = true, true }

// TestReleasePolicy checks that the chart creates an UpgradePolicy together with its CRD,
// changes it, and leaves it in place.
func TestReleasePolicy(t *testing.T) {
	r := newRelease(t)
	r.must("install", r.install(mirror("first")))
	r.expect("helm install", policy, url, "https://first.example.com/")
	kept := r.field(policy, uid)
	r.must("upgrade", r.upgrade(load(t), mirror("second")))
	r.expect("helm upgrade", policy, url, "https://second.example.com/")
	r.must("upgrade", r.upgrade(load(t), ""))
	r.must("uninstall", r.uninstall())
	r.expect("helm uninstall", policy, uid, kept)
	r.must("install", r.install(mirror("third"), takeOwnership))
	r.expect("the second helm install", policy, url, "https://third.example.com/")
	r.expect("the second helm install", policy, uid, kept)
}

// TestReleaseTakesPolicy checks how a release takes over a policy that the coordinator or a
// person has created. Helm applies on the server, where the fields are theirs until it forces them.
func TestReleaseTakesPolicy(t *testing.T) {
	r := newRelease(t)
	r.must("install", r.install(""))
	kubectl(t, r.config, "apply", "--server-side", "-f", file(t, `
apiVersion: kubectl-upgrade.dev/v1alpha1
kind: UpgradePolicy
metadata: {name: cluster}
spec: {source: {url: 'https://their.example.com/'}}
`))
	if err := r.upgrade(load(t), mirror("own")); err == nil || !strings.Contains(err.Error(), "cannot be imported into the current release") {
		t.Errorf("helm upgrade: got %v, want a refusal", err)
	}
	take := func(u *action.Upgrade) { u.TakeOwnership = true }
	if err := r.upgrade(load(t), mirror("own"), take); err == nil || !strings.Contains(err.Error(), "conflict") {
		t.Errorf("helm upgrade --take-ownership: got %v, want a conflict", err)
	}
	force := func(u *action.Upgrade) { u.ForceConflicts = true }
	r.must("upgrade --take-ownership --force-conflicts", r.upgrade(load(t), mirror("own"), take, force))
	r.expect("helm upgrade", policy, url, "https://own.example.com/")
	r.must("upgrade", r.upgrade(load(t), mirror("next")))
	r.expect("the next helm upgrade", policy, url, "https://next.example.com/")
}

// TestReleaseTakesManifests checks that a release takes over what kubectl has installed.
func TestReleaseTakesManifests(t *testing.T) {
	r := newRelease(t)
	kubectl(t, r.config, "apply", "--server-side", "-k", root+"/manifests")
	kubectl(t, r.config, "apply", "--server-side", "-f", file(t, `
apiVersion: kubectl-upgrade.dev/v1alpha1
kind: UpgradePolicy
metadata: {name: cluster}
`))
	if err := r.install(mirror("own")); err == nil || !strings.Contains(err.Error(), "cannot be imported into the current release") {
		t.Errorf("helm install: got %v, want a refusal", err)
	}
	r.must("install --take-ownership", r.install(mirror("own"), takeOwnership))
	r.expect("helm install", policy, url, "https://own.example.com/")
	r.must("uninstall", r.uninstall())
	r.expect("helm uninstall", "daemonset/node-agent -n kubectl-upgrade", ".metadata.name", "")
}
