//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/performance"
)

const minorText = "`make e2e-speed CASE=Minor`" + ` takes a cluster of three control planes and a worker of the [lab](../README.md) from %[1]s to %[2]s by ` + "`kubectl upgrade apply v1.35 --yes`" + `, with ` + "`settleSeconds: 0`" + `, and before that an equal new cluster by a script, which does what [Upgrading kubeadm clusters](https://kubernetes.io/docs/tasks/administer-cluster/kubeadm/kubeadm-upgrade/) has a person do, without any pause: node after node download the image, ` + "`kubeadm upgrade apply` or `kubeadm upgrade node`, `kubectl drain`" + `, reboot with the image, wait until the Node is Ready, ` + "`kubectl uncordon`" + `. The time is that of the command, and of the script. A web service of two pods is drained.`

const sharesText = "What the time from the trigger to the end went into, by the record of the upgrade; if several nodes are at work, the first line counts:"

var shareColumns = []string{"", "seconds", "share"}

// TestSpeedMinor measures a minor beside the documented procedure.
func TestSpeedMinor(t *testing.T) {
	m := &minorRun{}
	t.Run("by hand", m.byHand)
	t.Run("by kubectl-upgrade", m.apply)
	if !t.Failed() {
		m.write(t)
	}
}

type minorRun struct {
	script *byHand
	loaded bool // the machine has other work too
	bare   time.Duration
	ours   time.Duration
	shares []scenario.Share
}

// ready has a web service run on all nodes, and offers the minor.
func (m *minorRun) ready(t *testing.T, c *testCluster) {
	if _, err := c.StartWeb(c.ctx); err != nil {
		t.Fatal(err)
	}
	c.must(t)(c.Kube(c.ctx, "-n", "default", "patch", "deployment", "web", "--type", "merge", "-p", anywhere))
	c.must(t)(c.Kube(c.ctx, "-n", "default", "rollout", "status", "deployment/web", "--timeout", "2m"))
	c.must(t)(c.Lab.Lab(c.ctx, "publish", minorTo))
}

func (m *minorRun) byHand(t *testing.T) {
	c := newLab(t, 3, 1, "--version", minorFrom)
	c.connect(t)
	c.stopRecording() // there are no objects of kubectl-upgrade
	m.ready(t, c)
	m.script = &byHand{testCluster: c, log: t.Logf}
	began := time.Now()
	for _, node := range c.nodes {
		kubeadm := "node"
		if node == c.nodes[0] {
			kubeadm = "apply " + minorTo
		}
		c.must(t)("", m.script.upgrade(node, minorTo, kubeadm))
		t.Logf("%s is done after %s", node, time.Since(began).Round(time.Second))
	}
	m.bare = time.Since(began)
	c.checkStill(t, began)
	for _, part := range partsByHand {
		t.Logf("%s: %v", part, m.script.took[part])
	}
}

func (m *minorRun) apply(t *testing.T) {
	c := newCluster(t, 3, 1, "--version", minorFrom)
	m.ready(t, c)
	c.patchPolicy(t, noSettle)
	c.apply(t, scenario.OpenSchedule)
	began := time.Now()
	t.Log(c.must(t)(c.Upgrade(c.ctx, "apply", "v1.35", "--yes", "--timeout", "40m")))
	m.ours = time.Since(began)
	upgrade, err := c.ours.ClusterUpgrades.Get(c.ctx, minorTo, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if upgrade.Status.Outcome != v1alpha1.OutcomeSucceeded {
		t.Fatalf("%s: outcome %q", minorTo, upgrade.Status.Outcome)
	}
	nodes := c.nodeRecords(t, minorTo)
	scenario.Timeline(os.Stdout, nodes)
	m.shares = scenario.Shares(nodes, upgrade.Status.TriggerTime.Time, upgrade.Status.EndTime.Time)
	scenario.PrintShares(os.Stdout, m.shares)
	if !m.loaded {
		c.checkStill(t, began)
	}
}

// shareRows returns the rows of the shares, and our own overhead.
func (m *minorRun) shareRows() (rows [][]string, overhead string) {
	all := total(m.shares)
	for _, s := range m.shares {
		part := fmt.Sprintf("%.1f %%", 100*s.Took.Seconds()/all.Seconds())
		rows = append(rows, []string{s.Name, seconds(s.Took), part})
		if s.Name == scenario.Overhead {
			overhead = part
		}
	}
	return rows, overhead
}

func (m *minorRun) write(t *testing.T) {
	rows, overhead := m.shareRows()
	var script [][]string
	for _, name := range partsByHand {
		took := sum(m.script.took[name])
		script = append(script, []string{name, seconds(took), fmt.Sprintf("%.1f %%", 100*took.Seconds()/m.bare.Seconds())})
	}
	write(t, performance.Section{
		Name: "minor", Order: 13, Title: "Real nodes: a minor", Text: fmt.Sprintf(minorText, minorFrom, minorTo),
		Tables: []performance.Table{
			{Columns: figures, Rows: [][]string{
				{"the minor", "", seconds(m.ours)},
				{"the minor by the script", "", seconds(m.bare)},
				{"the ratio of both", "1.05 ×", ratio(m.ours, m.bare)},
				{"our own share: no verb, drain or reboot runs", "5 %", overhead},
			}},
			{Text: sharesText, Columns: shareColumns, Rows: rows},
			{Text: "The script's:", Columns: shareColumns, Rows: script},
		},
	})
}

func total(shares []scenario.Share) (all time.Duration) {
	for _, s := range shares {
		all += s.Took
	}
	return all
}

func sum(times []time.Duration) (all time.Duration) {
	for _, took := range times {
		all += took
	}
	return all
}
