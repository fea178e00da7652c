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
	labs := []*ownLab{nil}
	for _, one := range cases {
		if !slices.Contains(labs, one.lab) {
			labs = append(labs, one.lab)
		}
	}
	for _, lab := range labs {
		of := slices.DeleteFunc(slices.Clone(cases), func(s strangeCluster) bool { return s.lab != lab })
		if len(of) > 0 && !t.Run(lab.String(), func(t *testing.T) { strangeClustersOf(t, lab, of) }) {
			return
		}
	}
}

// strangeClustersOf upgrades the cases of one lab.
func strangeClustersOf(t *testing.T, lab *ownLab, cases []strangeCluster) {
	workers := 1
	kinds := slices.ContainsFunc(cases, func(s strangeCluster) bool { return s.kind })
	if kinds {
		workers = 2 // one of them serves the requests from outside
	}
	c := lab.make(t, workers)
	c.apply(t, scenario.OpenSchedule)
	if kinds {
		c.startClient(t)
	}
	patch := from
	for _, batch := range batches(cases) {
		before := patch
		patch = nextPatch(t, patch)
		c.must(t)(c.Lab.Lab(c.ctx, "publish", patch, "--programs-of", from))
		if !t.Run(batch[0].name, func(t *testing.T) { c.strangeCluster(t, batch, before, patch) }) {
			return // the next one would begin with what this left
		}
	}
}

// batches returns the cases that one upgrade has.
func batches(cases []strangeCluster) (all [][]strangeCluster) {
	for _, one := range cases {
		i := slices.IndexFunc(all, func(batch []strangeCluster) bool { return one.with != "" && batch[0].with == one.with })
		if i >= 0 {
			all[i] = append(all[i], one)
		} else {
			all = append(all, []strangeCluster{one})
		}
	}
	return all
}

// strangeCluster makes a cluster strange in the ways of a batch, and has it upgraded. What holds is mended one after the other.
func (c *testCluster) strangeCluster(t *testing.T, batch []strangeCluster, runs, patch string) {
	c.stopRecording()
	c.record()
	began, one := time.Now(), batch[0] // what is not asked of each one is of a case alone
	results, originals := make([]strangeResult, len(batch)), make([]string, len(batch))
	for i := range batch {
		results[i] = strangeResult{name: batch[i].name, public: batch[i].public}
	}
	whole := true // of the batch has failed, unless it comes to its end
	defer func() {
		for i := range results {
			results[i].failed = results[i].failed || whole
		}
		if !c.isVoid(t, began) {
			writeStrange(t, clustersPage, caseNames(), results)
		}
	}()
	for i := range batch {
		originals[i] = c.changeConfiguration(t, batch[i].config)
		c.onFirst(t, batch[i].make, runs)
		c.onNodes(t, batch[i].everywhere, c.nodes...)
	}
	var served *service
	if one.kind {
		served = c.watchService(one.address)
	}
	untouched := c.checkUntouched(t, runs)
	name := "patch-" + strings.ReplaceAll(patch, ".", "-")
	c.apply(t, fmt.Sprintf("apiVersion: kubectl-upgrade.dev/v1alpha1\nkind: ClusterUpgrade\nmetadata: {name: %s}\nspec: {version: %s, suspend: %t, strategy: {settleSeconds: 5}}\n", name, patch, one.staged != ""))
	c.change(t, one, name, patch, runs)
	for i := range batch {
		results[i].failed = !t.Run(batch[i].name, func(t *testing.T) {
			c.awaitCase(t, batch[i], &results[i], name, 30*time.Second/time.Duration(len(batch)), untouched)
		})
		if !batch[i].goes {
			c.mendCluster(t, batch[i], originals[i], runs)
		}
	}
	c.eventually(t, 15*time.Minute, name+" has succeeded", func() error { return c.upgradeSucceeded(name) })
	if one.kind {
		c.checkFindings(t, name, one.words)
		c.rebootAll(t, "reboot-"+strings.ReplaceAll(patch, ".", "-"))
		c.checkFindings(t, "reboot-"+strings.ReplaceAll(patch, ".", "-"), one.words)
		results[0].said = append(results[0].said, served.check(t, c))
	}
	for i, one := range slices.Backward(batch) {
		c.onFirst(t, one.after, runs)
		if one.goes {
			c.mendCluster(t, one, originals[i], runs)
		}
	}
	c.report(t)(record.Promises(c.recorder.Moments(), 1))
	whole = t.Failed() && len(batch) == 1
}

// kubelet returns the version of a node's kubelet.
func (c *testCluster) kubelet(t *testing.T, name string) string {
	t.Helper()
	node, err := c.kube.CoreV1().Nodes().Get(c.ctx, name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return node.Status.NodeInfo.KubeletVersion
}

// awaitCase waits until what a case is about has been said, and checks for a while that it holds the upgrade.
func (c *testCluster) awaitCase(t *testing.T, one strangeCluster, result *strangeResult, upgrade string, hold time.Duration, untouched func(t *testing.T, middle bool)) {
	if one.words != "" {
		result.said = append(result.said, c.awaitSaid(t, upgrade, one.words))
	}
	result.said = append(result.said, c.awaitScreens(t, one.screens)...)
	if one.goes {
		return
	}
	if len(result.said) > 0 && strings.HasPrefix(result.said[0], string(v1alpha1.LevelWarn)) {
		t.Errorf("it holds nothing: %s", result.said[0])
	}
	time.Sleep(hold) // what does not hold would begin
	untouched(t, one.middle)
}

// checkUntouched returns a function that fails the test if a node was rebooted since, or a static pod was changed. In the middle
// of an upgrade that may be so of nodes that have left the version that runs.
func (c *testCluster) checkUntouched(t *testing.T, runs string) func(t *testing.T, middle bool) {
	t.Helper()
	boots, read := map[string]int{}, func() string {
		return c.must(t)(c.Exec(c.ctx, "cp1", "sh", "-c", "cat /etc/kubernetes/manifests/kube-*.yaml"))
	}
	for _, node := range c.nodes {
		boots[node] = c.boots(t, node)
	}
	manifests := read()
	return func(t *testing.T, middle bool) {
		t.Helper()
		for node, before := range boots {
			if now := c.boots(t, node); now != before && (!middle || c.kubelet(t, node) == runs) {
				t.Errorf("%s was rebooted: %d boots, and %d before", node, now, before)
			}
		}
		if !middle && read() != manifests {
			t.Error("the static pods were changed")
		}
	}
}

// change does what a case does once its images are there, and then lets the upgrade go on.
func (c *testCluster) change(t *testing.T, one strangeCluster, upgrade, patch, runs string) {
	t.Helper()
	if one.staged == "" {
		return
	}
	c.eventually(t, 5*time.Minute, "the images are there", func() error { return c.isPulled(patch) })
	c.onFirst(t, one.staged, runs)
	c.eachSecond(t, 20*time.Minute, one.awaited, func() error {
		_, err := c.Exec(c.ctx, "cp1", "sh", "-ec", strings.ReplaceAll(one.awaited, "VERSION_OF_TODAY", runs))
		return err
	})
	c.must(t)(c.Kube(c.ctx, "patch", "clusterupgrade", upgrade, "--type=merge", "-p", `{"spec":{"suspend":false}}`))
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

func allClusters() []strangeCluster {
	return slices.Concat(strangeClusters, kindsOfClusters, clustersOfOwnShape)
}

func caseNames() (names []string) {
	for _, one := range allClusters() {
		names = append(names, one.name)
	}
	return names
}

const clustersPage = `# Clusters as people have them

<!-- Written by the end-to-end tests: make e2e-clusters. -->

Each row is a case of ` + "`make e2e-clusters`" + `: a cluster of one control plane and one or two workers of the [lab](../README.md), or one of another shape where the case says so, is made as the public report or guide describes it, and is to be patched. Cases that leave each other alone have one patch together. What is wrong has to be said before a node is touched, and once a person has mended it the patch has to go on. A whole kind of clusters is also rebooted, while a client outside asks a web service. To repeat one case: ` + "`make e2e-clusters CASE=removed-flag`" + `.

| case | public report | what was said | date |
| --- | --- | --- | --- |
`
