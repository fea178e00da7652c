//go:build e2e

package e2e

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/record"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestClusters upgrades one cluster after the other as people have them: what is wrong is said before any node is touched,
// and once a person has mended it, the upgrade goes on. FAULT_CASES is a regular expression that selects cases.
func TestClusters(t *testing.T) {
	selected, passed := regexp.MustCompile(env("FAULT_CASES", "")), passedCases(t)
	cases := slices.DeleteFunc(allClusters(), func(s strangeCluster) bool { return !selected.MatchString(s.name) || passed[s.name] })
	if len(cases) == 0 {
		t.Logf("CASE=%s selects no case, or all have passed", selected)
		return
	}
	workers := 1
	kinds := slices.ContainsFunc(cases, func(s strangeCluster) bool { return s.kind })
	if kinds {
		workers = 2 // one of them serves the requests from outside
	}
	c := newCluster(t, 1, workers)
	c.apply(t, scenario.OpenSchedule)
	if kinds {
		c.startClient(t)
	}
	patch := from
	for _, one := range cases {
		before := patch
		patch = nextPatch(t, patch)
		c.must(t)(c.Lab.Lab(c.ctx, "publish", patch, "--programs-of", from))
		if !t.Run(one.name, func(t *testing.T) { c.strangeCluster(t, one, before, patch) }) {
			return // the next one would begin with what this left
		}
	}
}

func (c *testCluster) strangeCluster(t *testing.T, one strangeCluster, runs, patch string) {
	c.stopRecording()
	c.record()
	began := time.Now()
	result := strangeResult{name: one.name, public: one.public}
	defer func() {
		if result.failed = t.Failed(); !c.isVoid(t, began) {
			writeStrange(t, clustersPage, caseNames(), []strangeResult{result})
		}
	}()
	original := c.changeConfiguration(t, one.config)
	c.onFirst(t, one.make, runs)
	c.onNodes(t, one.everywhere, c.nodes...)
	var served *service
	if one.kind {
		served = c.watchService()
	}
	boots := map[string]int{}
	for _, node := range c.nodes {
		boots[node] = c.boots(t, node)
	}
	manifests := c.must(t)(c.Exec(c.ctx, "cp1", "sh", "-c", "cat /etc/kubernetes/manifests/kube-*.yaml"))
	name := "patch-" + strings.ReplaceAll(patch, ".", "-")
	c.apply(t, fmt.Sprintf("apiVersion: kubectl-upgrade.dev/v1alpha1\nkind: ClusterUpgrade\nmetadata: {name: %s}\nspec: {version: %s, suspend: %t, strategy: {settleSeconds: 5}}\n", name, patch, one.staged != ""))
	if one.staged != "" {
		c.eventually(t, 5*time.Minute, "the images are there", func() error { return c.isPulled(patch) })
		c.onFirst(t, one.staged, runs)
		c.eachSecond(t, 20*time.Minute, one.awaited, func() error {
			_, err := c.Exec(c.ctx, "cp1", "sh", "-ec", strings.ReplaceAll(one.awaited, "VERSION_OF_TODAY", runs))
			return err
		})
		c.must(t)(c.Kube(c.ctx, "patch", "clusterupgrade", name, "--type=merge", "-p", `{"spec":{"suspend":false}}`))
	}
	if one.words != "" {
		result.said = append(result.said, c.awaitSaid(t, name, one.words))
	}
	result.said = append(result.said, c.awaitScreens(t, one.screens)...)
	if !one.goes {
		if len(result.said) > 0 && strings.HasPrefix(result.said[0], string(v1alpha1.LevelWarn)) {
			t.Errorf("it holds nothing: %s", result.said[0])
		}
		time.Sleep(30 * time.Second) // what does not hold would begin
		for node, before := range boots {
			if now := c.boots(t, node); now != before {
				t.Errorf("%s was rebooted: %d boots, and %d before", node, now, before)
			}
		}
		if now := c.must(t)(c.Exec(c.ctx, "cp1", "sh", "-c", "cat /etc/kubernetes/manifests/kube-*.yaml")); now != manifests && !one.middle {
			t.Error("the static pods were changed")
		}
		c.mendCluster(t, one, original, runs)
	}
	c.eventually(t, 15*time.Minute, name+" has succeeded", func() error { return c.upgradeSucceeded(name) })
	if one.kind {
		c.checkFindings(t, name, one.words)
		c.rebootAll(t, "reboot-"+strings.ReplaceAll(patch, ".", "-"))
		c.checkFindings(t, "reboot-"+strings.ReplaceAll(patch, ".", "-"), one.words)
		result.said = append(result.said, served.check(t, c))
	}
	c.onFirst(t, one.after, runs)
	if one.goes {
		c.mendCluster(t, one, original, runs)
	}
	c.report(t)(record.Promises(c.recorder.Moments(), 1))
}

// mendCluster does what a person would do.
func (c *testCluster) mendCluster(t *testing.T, one strangeCluster, original, runs string) {
	t.Helper()
	c.restoreConfiguration(t, original)
	c.onNodes(t, one.undoEverywhere, c.nodes...)
	c.onFirst(t, one.undo, runs)
}

// onNodes runs a script on nodes. It may use the function admin, which prints the administrator's kubeconfig.
func (c *testCluster) onNodes(t *testing.T, script string, nodes ...string) {
	t.Helper()
	if script == "" {
		return
	}
	admin := c.must(t)(c.Exec(c.ctx, "cp1", "cat", "/etc/kubernetes/admin.conf"))
	for _, node := range nodes {
		c.must(t)(c.Exec(c.ctx, node, "sh", "-ec", "admin() { cat <<'EOF'\n"+strings.TrimSpace(admin)+"\nEOF\n}\n"+script))
	}
}

// onFirst runs a script on cp1.
func (c *testCluster) onFirst(t *testing.T, script, runs string) {
	t.Helper()
	if script != "" {
		c.must(t)(c.Exec(c.ctx, "cp1", "sh", "-ec", "kubectl='kubectl --kubeconfig /etc/kubernetes/admin.conf'\n"+strings.ReplaceAll(script, "VERSION_OF_TODAY", runs)))
	}
}

// changeConfiguration changes kubeadm's ClusterConfiguration, and returns what it was; empty: nothing is to change.
func (c *testCluster) changeConfiguration(t *testing.T, change func(map[string]any)) (original string) {
	t.Helper()
	if change == nil {
		return ""
	}
	config := map[string]any{}
	original = c.must(t)(c.Kube(c.ctx, "-n", "kube-system", "get", "configmap", "kubeadm-config", "-o", "jsonpath={.data.ClusterConfiguration}"))
	if err := yaml.Unmarshal([]byte(original), &config); err != nil {
		t.Fatal(err)
	}
	change(config)
	text, err := yaml.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	c.restoreConfiguration(t, string(text))
	return original
}

func (c *testCluster) restoreConfiguration(t *testing.T, text string) {
	t.Helper()
	if text == "" {
		return
	}
	maps := c.kube.CoreV1().ConfigMaps("kube-system")
	config, err := maps.Get(c.ctx, "kubeadm-config", metav1.GetOptions{})
	if err == nil {
		config.Data["ClusterConfiguration"] = text
		_, err = maps.Update(c.ctx, config, metav1.UpdateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// isPulled returns an error until cp1 has the container images of a version.
func (c *testCluster) isPulled(version string) error {
	u, err := c.ours.NodeUpgrades.Get(c.ctx, "cp1", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if u.Status.Versions.Pulled != version {
		return fmt.Errorf("cp1 has pulled %q, and is in step %s", u.Status.Versions.Pulled, u.Status.Step)
	}
	return nil
}

// awaitSaid waits until a finding of the upgrade, or the status of a node, says something, and returns that.
func (c *testCluster) awaitSaid(t *testing.T, upgrade, words string) (said string) {
	t.Helper()
	pattern := regexp.MustCompile(words)
	c.eventually(t, 6*time.Minute, upgrade+" says "+words, func() error {
		u, err := c.ours.ClusterUpgrades.Get(c.ctx, upgrade, metav1.GetOptions{})
		if err != nil {
			return err
		}
		all := map[string]bool{}
		for _, f := range u.Status.Findings {
			all[fmt.Sprintf("%s %s: %s", f.Level, f.ID, f.Message)] = true
		}
		nodes, err := c.nodeUpgrades()
		if err != nil {
			return err
		}
		for _, node := range nodes {
			reason, message := node.Status.Explain()
			all[string(reason)+": "+message] = true
			for _, condition := range node.Status.Conditions {
				if condition.Type == v1alpha1.ConditionAdmitted {
					all[condition.Reason+": "+condition.Message] = true
				}
			}
		}
		for _, one := range slices.Sorted(maps.Keys(all)) {
			if pattern.MatchString(one) {
				said = one
				return nil
			}
		}
		return fmt.Errorf("it is said: %v", slices.Sorted(maps.Keys(all)))
	})
	return said
}

func allClusters() []strangeCluster { return slices.Concat(strangeClusters, kindsOfClusters) }

func caseNames() (names []string) {
	for _, one := range allClusters() {
		names = append(names, one.name)
	}
	return names
}

const clustersPage = `# Clusters as people have them

<!-- Written by the end-to-end tests: make e2e-clusters. -->

Each row is a case of ` + "`make e2e-clusters`" + `: a cluster of one control plane and one or two workers of the [lab](../README.md) is made as the public report or guide describes it, and is to be patched. What is wrong has to be said before a node is touched, and once a person has mended it the patch has to go on. A whole kind of clusters is also rebooted, while a client outside asks a web service. To repeat one case: ` + "`make e2e-clusters CASE=removed-flag`" + `.

| case | public report | what was said | date |
| --- | --- | --- | --- |
`
