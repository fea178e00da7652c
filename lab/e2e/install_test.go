//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// rebootNow is an upgrade that reboots the nodes whose operating system asks for it.
const rebootNow = `
apiVersion: kubectl-upgrade.dev/v1alpha1
kind: ClusterUpgrade
metadata: {name: reboot}
spec: {type: Reboot}
`

// wayToInstall is one of the ways of docs/install.md.
type wayToInstall struct {
	name             string
	install, deleted func(*testing.T)
}

// TestInstall installs kubectl-upgrade in each of the ways that docs/install.md names, lets an
// upgrade of type Reboot reboot a worker, uninstalls it as docs/install.md says, and
// compares each node, file by file, and the cluster with what they were before:
// `make e2e-install`.
func TestInstall(t *testing.T) {
	c := newLab(t, 1, 1)
	c.must(t)(c.Lab.Lab(c.ctx, "load-image", c.imageTar()))
	for _, way := range c.waysToInstall(t) {
		if !t.Run(way.name, func(t *testing.T) { c.installAndRemove(t, way) }) {
			t.FailNow()
		}
	}
}

func (c *testCluster) imageTar() string { return filepath.Join(c.root, "bin", "node-agent.tar") }

func (c *testCluster) installAndRemove(t *testing.T, way wayToInstall) {
	files, objects := c.filesOf(t), c.objects(t)
	c.must(t)(c.Exec(c.ctx, "w1", "touch", "/run/reboot-required")) // before the agent looks for the first time
	began := time.Now()
	way.install(t)
	if err := c.Configure(c.ctx, c.root, v1alpha1.ModeManage); err != nil {
		t.Fatal(err)
	}
	t.Logf("installed in %s", time.Since(began).Round(time.Second))
	c.connect(t)
	c.apply(t, scenario.OpenSchedule)
	c.apply(t, rebootNow)
	c.eventually(t, 10*time.Minute, "the Reboot has succeeded", func() error { return c.upgradeSucceeded("reboot") })
	c.checkReboots(t, map[string]int{"cp1": 0, "w1": 1})
	c.stopRecording()

	began = time.Now()
	c.patchPolicy(t, `{"mode":"Observe"}`)
	c.must(t)(c.Kube(c.ctx, "wait", "--for=condition=Managed=false", "nodeupgrades", "--all", "--timeout", "5m"))
	way.deleted(t)
	t.Logf("uninstalled in %s", time.Since(began).Round(time.Second))
	if diff := cmp.Diff(files, c.filesOf(t)); diff != "" {
		t.Errorf("nodes are not as they were (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(objects, c.objects(t)); diff != "" {
		t.Errorf("the cluster is not as it was (-before +after):\n%s", diff)
	}
}

// objects returns the names of the objects that an installation could leave in the cluster.
func (c *testCluster) objects(t *testing.T) []string {
	t.Helper()
	cluster := c.must(t)(c.Kube(c.ctx, "get", "-o", "name",
		"crd,clusterrole,clusterrolebinding,namespace,priorityclass,validatingadmissionpolicy,validatingadmissionpolicybinding"))
	inside := c.must(t)(c.Kube(c.ctx, "get", "-A", "-o", `jsonpath={range .items[*]}{.kind}/{.metadata.namespace}/{.metadata.name}{"\n"}{end}`,
		"role,rolebinding,serviceaccount,service,deployment,daemonset,networkpolicy,pdb"))
	return strings.Split(cluster+"\n"+inside, "\n")
}

func (c *testCluster) waysToInstall(t *testing.T) []wayToInstall {
	t.Helper()
	manifests := filepath.Join(c.root, "manifests")
	oneFile := filepath.Join(t.TempDir(), "install.yaml")
	kube := func(args ...string) func(*testing.T) {
		return func(t *testing.T) { c.must(t)(c.Kube(c.ctx, args...)) }
	}
	return []wayToInstall{
		{"install.yaml", func(t *testing.T) {
			c.program(t, "release", "install", "--manifests", manifests, "--image", pinnedImage(t), "--out", oneFile)
			kube("apply", "--server-side", "-f", oneFile)(t)
		}, kube("delete", "-f", oneFile, "--timeout", "3m")},
		{"Helm", func(t *testing.T) {
			charts, err := filepath.Glob(filepath.Join(c.root, "dist", "charts", "*.tgz"))
			if err != nil || len(charts) != 1 {
				t.Fatalf("want one chart, as `make chart` writes it: %v %v", charts, err)
			}
			c.program(t, "helm", "install", "kubectl-upgrade", charts[0], "--namespace", "kubectl-upgrade", "--create-namespace", "--set", "image.tag=dev")
		}, func(t *testing.T) {
			c.program(t, "helm", "uninstall", "kubectl-upgrade", "--namespace", "kubectl-upgrade")
			crds := c.must(t)(c.Kube(c.ctx, "get", "crd", "-o", `jsonpath={range .items[?(@.spec.group=="kubectl-upgrade.dev")]}{.metadata.name} {end}`))
			kube(append([]string{"delete", "--timeout", "3m", "crd"}, strings.Fields(crds)...)...)(t)
			kube("delete", "namespace", "kubectl-upgrade", "kubectl-upgrade-hooks", "--timeout", "3m")(t) // as docs/install.md says
		}},
		{"kustomize", kube("apply", "--server-side", "-k", manifests), kube("delete", "-k", manifests, "--timeout", "3m")},
	}
}

// program runs one of the programs of `make e2e-install` in bin with the lab's kubeconfig.
func (c *testCluster) program(t *testing.T, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(c.ctx, filepath.Join(c.root, "bin", name), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
}

// pinnedImage returns the reference of the image with the digest that it has in the lab's
// registry, as install.yaml has it.
func pinnedImage(t *testing.T) string {
	t.Helper()
	const image = "kubectl-upgrade/node-agent:dev"
	served, err := name.ParseReference("10.88.0.1:5000/"+image, name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := remote.Head(served, remote.WithContext(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	return "ghcr.io/" + image + "@" + manifest.Digest.String()
}
