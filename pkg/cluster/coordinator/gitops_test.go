package coordinator_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// fromGit is what a repository has, with the address of the index.
const fromGit = `
apiVersion: kubectl-upgrade.dev/v1alpha1
kind: UpgradePolicy
metadata: {name: cluster}
spec:
  mode: Manage
  automatic: [{type: Patch, minAgeSeconds: 0}]
  source: {url: %s/, transportPolicy: AllowHTTP, intervalSeconds: 1}
  strategy: {maxUnavailable: 100%%, settleSeconds: 0, minReadySeconds: 0}
---
apiVersion: kubectl-upgrade.dev/v1alpha1
kind: MaintenanceSchedule
metadata: {name: always}
spec:
  timeZone: Europe/Berlin
  maintenanceWindows:
    - {name: always, startTime: "2026-01-01T00:00:00+01:00", endTime: "2026-01-02T00:00:00+01:00", recurrence: FREQ=DAILY}
---
apiVersion: kubectl-upgrade.dev/v1alpha1
kind: ClusterUpgrade
metadata: {name: from-git}
spec: {version: v1.34.4, strategy: {maxUnavailable: 2}}
`

// TestGitSeesNoDifference checks that objects which Flux or Argo CD applies show no difference
// after the coordinator has worked with them and a person has suspended the upgrade, and that
// applying them again writes nothing.
func TestGitSeesNoDifference(t *testing.T) {
	c := newCluster(t, "cp1")
	c.must(c.ours.UpgradePolicies.Delete(t.Context(), "cluster", metav1.DeleteOptions{}))
	file := filepath.Join(t.TempDir(), "git.yaml")
	c.must(os.WriteFile(file, fmt.Appendf(nil, fromGit, c.index.URL), 0o600))
	c.apply("--server-side", "--field-manager=kustomize-controller", "-f", file)
	c.index.offer("v1.34.4")
	c.startAgent("cp1")
	c.startCoordinator("one")
	c.eventually(c.succeeded("from-git"))
	// As `kubectl upgrade suspend` does.
	if out, err := apitest.Kubectl(t, c.config, "patch", "clusterupgrade", "from-git", "--field-manager=kubectl-upgrade", "--type=merge", `-p={"spec":{"suspend":true}}`).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c.eventually(func() string {
		u := c.upgrade("from-git")
		if u.Status.ObservedGeneration != u.Generation {
			return "the coordinator has not seen the suspended upgrade"
		}
		return ""
	})

	c.noDifference("--server-side", "--field-manager=kustomize-controller", "-f", file)
	c.noDifference("-f", file) // without server-side apply, as Argo CD compares
	before := c.versions()
	// No --force-conflicts.
	c.apply("--server-side", "--field-manager=kustomize-controller", "-f", file)
	for name, version := range c.versions() {
		if before[name] != version {
			t.Errorf("applying the same again wrote %s", name)
		}
	}
	if !c.upgrade("from-git").Spec.Suspend {
		t.Error("applying what is in Git, where suspend is not set, resumed the upgrade")
	}
}

// noDifference fails the test if kubectl diff finds one.
func (c *cluster) noDifference(args ...string) {
	c.Helper()
	if out, err := apitest.Kubectl(c.T, c.config, append([]string{"diff"}, args...)...).CombinedOutput(); err != nil {
		c.Errorf("kubectl diff %v: %v\n%s", args, err, out)
	}
}
