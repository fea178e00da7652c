//go:build e2e

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/image"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// hookObjects are what the recipes' Jobs run as, and the StatefulSet that they label. The Jobs may do
// anything.
const hookObjects = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: hooks-backup}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: ""
  hostPath: {path: /var/backups/hooks, type: DirectoryOrCreate}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: backup, namespace: kubectl-upgrade-hooks}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: ""
  volumeName: hooks-backup
  resources: {requests: {storage: 1Gi}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: shop}
spec:
  replicas: 0
  serviceName: db
  selector: {matchLabels: {app: db}}
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: db, image: none}]}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: hooks, namespace: kubectl-upgrade-hooks}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: hooks}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: hooks, namespace: kubectl-upgrade-hooks}]
`

// outOfBalancers is the label by which the recipes take a node out of load balancers.
const outOfBalancers = "node.kubernetes.io/exclude-from-external-load-balancers"

// TestHooks patches a control plane, two workers and a spare one with the recipes of docs/gates.md: the
// only API server is away in the middle of the control plane's turn, a hook after a node fails and is
// retried, and a drain is given up. Whatever happens, at most one node is out of load balancers, a node
// is so while it drains, and in the end nothing stays set.
func TestHooks(t *testing.T) {
	c := newCluster(t, 1, 3)
	recipes := readRecipes(t, c.root)
	c.loadKubectl(t)
	c.apply(t, hookObjects)
	c.apply(t, onePod("stuck"))
	c.must(t)(c.Kube(c.ctx, "cordon", "w3"))
	for _, from := range recipes.cronJobs {
		c.apply(t, from)
	}
	c.patchPolicy(t, recipes.policy)
	balancers := c.watchBalancers(t)
	c.apply(t, scenario.OpenSchedule)
	c.must(t)(c.Lab.Lab(c.ctx, "publish", to))

	// No owner has agreed: the first Job cannot be created, and the plan shows what lets it.
	c.must(t)(c.Upgrade(c.ctx, "apply", to, "--yes", "--detach"))
	c.awaitHeld(t, v1alpha1.ReasonHookRunning, "hook spare .* has not been able to start since .*may not start CronJob spare-in", "cp1")
	c.agreeAsPlanSays(t)
	if err := c.block(); err != nil { // while the control plane is upgraded, as w1 may drain right after that
		t.Fatal(err)
	}

	c.eventually(t, 15*time.Minute, "cp1 is done", func() error { return c.done("cp1") })
	if out := c.must(t)(c.Exec(c.ctx, "cp1", "find", "/var/backups/hooks", "-name", "*.json")); !strings.Contains(out, "shop/services.json") {
		t.Errorf("the backup of the control plane has no objects of the shop:\n%s", out)
	}

	// w1's drain is given up, as a person puts it on hold: what was set is taken away.
	c.eventually(t, 10*time.Minute, "w1 drains", func() error { return c.at("w1", v1alpha1.StepDraining) })
	c.must(t)(c.Kube(c.ctx, "label", "node", "w1", v1alpha1.HoldLabel+"="))
	c.eventually(t, 5*time.Minute, "w1 is in load balancers again", func() error { return c.isOutOfBalancers("w1", false) })
	c.must(t)(c.Kube(c.ctx, "label", "node", "w1", v1alpha1.HoldLabel+"-"))
	if err := c.unblock(); err != nil {
		t.Fatal(err)
	}

	// The hook after the next node fails: no other one begins, until a person retries.
	broken := strings.ReplaceAll(recipes.cronJobs["lb-join"], "[label, node/$(NODE),", "[nonsense, node/$(NODE),")
	if broken == recipes.cronJobs["lb-join"] {
		t.Fatalf("the recipe labels no node:\n%s", broken)
	}
	c.apply(t, broken)
	var failed string
	c.eachSecond(t, 15*time.Minute, "a hook fails", func() error {
		policy, err := c.ours.UpgradePolicies.Get(c.ctx, v1alpha1.PolicyName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, turn := range policy.Status.HookTurns {
			if slices.ContainsFunc(turn.Hooks, func(run v1alpha1.HookRun) bool { return run.State == v1alpha1.HookFailed }) {
				failed = turn.Node
				return nil
			}
		}
		return errors.New("no hook has failed")
	})
	c.checkStatus(t, "HookFailed", "hook join", "kubectl -n kubectl-upgrade-hooks logs job/join-", "apply "+to+" --retry")
	if err := c.isOutOfBalancers(failed, true); err != nil {
		t.Error(err)
	}
	c.checkNothingBegins(t, 20*time.Second)
	c.apply(t, recipes.cronJobs["lb-join"])
	c.must(t)(c.Upgrade(c.ctx, "apply", to, "--retry", "--yes", "--detach"))

	c.eventually(t, 15*time.Minute, "every node is done", c.everyNodeDone)
	c.eventually(t, 5*time.Minute, "no hook is left", func() error {
		policy, err := c.ours.UpgradePolicies.Get(c.ctx, v1alpha1.PolicyName, metav1.GetOptions{})
		if err == nil && len(policy.Status.HookTurns) > 0 {
			err = fmt.Errorf("turns are left: %+v", policy.Status.HookTurns)
		}
		return err
	})
	c.checkHooksRan(t)
	balancers.check(t, c)
}

// recipes are those of docs/gates.md.
type recipes struct {
	policy   string            // the spec, as JSON
	cronJobs map[string]string // by name
}

func readRecipes(t *testing.T, root string) recipes {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, "docs", "gates.md"))
	if err != nil {
		t.Fatal(err)
	}
	block := func(name string) string {
		found := regexp.MustCompile("(?s)<!-- recipe: " + name + " -->\n```yaml\n(.*?)```").FindSubmatch(page)
		if found == nil {
			t.Fatalf("docs/gates.md has no recipe %s", name)
		}
		return string(found[1])
	}
	var policy v1alpha1.UpgradePolicy
	if err := yaml.UnmarshalStrict([]byte(block("hooks")), &policy); err != nil {
		t.Fatal(err)
	}
	spec, err := json.Marshal(map[string]any{"hooks": policy.Spec.Hooks})
	if err != nil {
		t.Fatal(err)
	}
	// By its default a CronJob keeps three Jobs, and the test counts all.
	leave := strings.Replace(block("leave"), "  suspend: true\n", "  suspend: true\n  successfulJobsHistoryLimit: 100\n  failedJobsHistoryLimit: 100\n", 1)
	args := regexp.MustCompile(`(?m)^( +args: ).*$`)
	list := recipes{policy: string(spec), cronJobs: map[string]string{"lb-leave": leave}}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\| `(\\[.*?\\])`").FindAllSubmatch(page, -1) {
		name := string(row[1])
		list.cronJobs[name] = args.ReplaceAllString(strings.Replace(leave, "name: lb-leave", "name: "+name, 1), "${1}"+strings.ReplaceAll(string(row[2]), "$", "$$"))
	}
	list.cronJobs["backup"] = withBackupFolder(t, list.cronJobs["backup"])
	for _, hook := range policy.Spec.Hooks {
		if list.cronJobs[hook.CronJobName] == "" {
			t.Errorf("docs/gates.md has no CronJob %s", hook.CronJobName)
		}
	}
	return list
}

// withBackupFolder gives the recipe a folder of the control plane's node, by a claim: the namespace allows no hostPath.
func withBackupFolder(t *testing.T, text string) string {
	t.Helper()
	var from batchv1.CronJob
	if err := yaml.UnmarshalStrict([]byte(text), &from); err != nil {
		t.Fatal(err)
	}
	pod := &from.Spec.JobTemplate.Spec.Template.Spec
	pod.NodeSelector = map[string]string{"node-role.kubernetes.io/control-plane": ""}
	pod.Volumes = []corev1.Volume{{Name: "backup", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "backup"}}}}
	pod.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "backup", MountPath: "/backup"}}
	data, err := yaml.Marshal(from)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// loadKubectl builds the image that the recipes name of the lab's own kubectl, and loads it.
func (c *testCluster) loadKubectl(t *testing.T) {
	t.Helper()
	tar := filepath.Join(t.TempDir(), "kubectl.tar")
	if err := image.BuildImage("registry.k8s.io/kubectl:v1.34.3", map[string]string{"/bin/kubectl": c.Kubectl}, []string{"/bin/kubectl"}, tar); err != nil {
		t.Fatal(err)
	}
	c.must(t)(c.Lab.Lab(c.ctx, "load-image", tar))
}

// agreeAsPlanSays runs the commands that the findings hook-rights show.
func (c *testCluster) agreeAsPlanSays(t *testing.T) {
	t.Helper()
	agreed, findings := 0, c.planFindings(t)
	for _, f := range findings {
		if command, is := strings.CutPrefix(f.Advice, "Its owner lets it: "); is && f.ID == "hook-rights" {
			t.Log(f.Message)
			c.must(t)(c.shell(t.TempDir(), command))
			agreed++
		}
	}
	if agreed != 7 {
		t.Fatalf("plan has %d findings hook-rights, want one for each CronJob: %+v", agreed, findings)
	}
}

// isOutOfBalancers returns an error unless the node has the label, or has it not.
func (c *testCluster) isOutOfBalancers(name string, want bool) error {
	node, err := c.kube.CoreV1().Nodes().Get(c.ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if _, is := node.Labels[outOfBalancers]; is != want {
		return fmt.Errorf("%s is out of load balancers: %t, want %t", name, is, want)
	}
	return nil
}

// balancers is what was seen of the nodes' labels.
type balancers struct {
	sync.Mutex
	most    []string        // the most nodes that were out of load balancers at once
	seen    map[string]bool // nodes that were
	drained []string        // nodes that drained and were not
	done    sync.WaitGroup
	stop    chan struct{}
}

// watchBalancers reads the nodes twice a second from now on, while the API server answers.
func (c *testCluster) watchBalancers(t *testing.T) *balancers {
	t.Helper()
	b := &balancers{seen: map[string]bool{}, stop: make(chan struct{})}
	b.done.Go(func() {
		for {
			select {
			case <-b.stop:
				return
			case <-time.After(500 * time.Millisecond):
			}
			list, err := c.kube.CoreV1().Nodes().List(c.ctx, metav1.ListOptions{})
			if err == nil {
				b.look(list.Items)
			}
		}
	})
	return b
}

func (b *balancers) look(nodes []corev1.Node) {
	b.Lock()
	defer b.Unlock()
	var out []string
	for i := range nodes {
		n := &nodes[i]
		_, is := n.Labels[outOfBalancers]
		if is {
			out = append(out, n.Name)
			b.seen[n.Name] = true
		}
		if _, ours := n.Annotations[v1alpha1.CordonAnnotation]; ours && !is {
			b.drained = append(b.drained, n.Name)
		}
	}
	if len(out) > len(b.most) {
		b.most = out
	}
}

// check ends the watch, and checks what it saw.
func (b *balancers) check(t *testing.T, c *testCluster) {
	t.Helper()
	close(b.stop)
	b.done.Wait()
	if len(b.most) != 1 {
		t.Errorf("%v were out of load balancers at once", b.most)
	}
	if len(b.drained) > 0 {
		t.Errorf("%v were cordoned by an upgrade, and not out of load balancers", b.drained)
	}
	for _, name := range c.nodes {
		if !b.seen[name] {
			t.Errorf("%s was never out of load balancers", name)
		}
		if err := c.isOutOfBalancers(name, false); err != nil {
			t.Error(err)
		}
	}
	node, err := c.kube.CoreV1().Nodes().Get(c.ctx, "w3", metav1.GetOptions{})
	if err != nil || !node.Spec.Unschedulable {
		t.Errorf("the spare node is in service in the end: %v", err)
	}
	db, err := c.kube.AppsV1().StatefulSets("shop").Get(c.ctx, "db", metav1.GetOptions{})
	if _, is := db.Labels["noout"]; err != nil || is {
		t.Errorf("the data of the shop may still not move: %v", err)
	}
}

// checkHooksRan checks that each hook ran, and none twice for a turn but the one that was retried.
func (c *testCluster) checkHooksRan(t *testing.T) {
	t.Helper()
	list, err := c.kube.BatchV1().Jobs(v1alpha1.HooksNamespace).List(c.ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ran := map[string]int{}
	for i := range list.Items {
		about := list.Items[i].Spec.Template.Annotations
		ran[about["kubectl-upgrade.dev/hook"]]++
		t.Logf("%s: hook %s of %q, release %q, outcome %q", list.Items[i].Name, about["kubectl-upgrade.dev/hook"], about["kubectl-upgrade.dev/node"], about["kubectl-upgrade.dev/release"], about["kubectl-upgrade.dev/outcome"])
	}
	// Turns: cp1's components and cp1, w1 given up, w1, w2, w3. Each upgrade has its own hooks; the first failed.
	want := map[string]int{"spare": 2, "backup": 2, "keep-data": 6, "leave": 6, "join": 7, "move-data": 6, "spare-again": 2}
	for name, n := range want {
		if ran[name] != n {
			t.Errorf("hook %s ran %d times, want %d", name, ran[name], n)
		}
	}
}
