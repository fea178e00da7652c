//go:build e2e

package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/record"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/performance"
)

// outageWorkers is how many workers are upgraded both ways.
const outageWorkers = 6

const outageText = "`make e2e-speed CASE=Outage`" + ` upgrades each of %d workers of the [lab](../README.md) twice by a patch, with method Reboot and ` + "`settleSeconds: 0`" + `: once by kubectl-upgrade and once by a bare script, in turns and on an otherwise idle cluster. Out of service is from the cordon to the uncordon, as a watch from outside sees them. Both have downloaded the image and run ` + "`kubeadm upgrade node`" + ` before. The script does what cannot be left out: ` + "`kubectl drain --ignore-daemonsets --delete-emptydir-data`, `ln -sfn IMAGE /etc/extensions/kubernetes.raw`, `systemctl reboot`" + `, wait until the Node is Ready with the new kubelet, ` + "`kubectl uncordon`" + `. Each worker has one pod that takes 2 s to end.`

// TestSpeedOutage measures how long workers are out of service.
func TestSpeedOutage(t *testing.T) {
	o := &outageRun{speed: newSpeed(t, outageWorkers)}
	o.script = &byHand{testCluster: o.testCluster, log: t.Logf}
	for round, version := range []string{to, nextPatch(t, to)} {
		o.publish(t, version)
		o.one(t, version, "cp1")
		o.keepDNS(t) // kubeadm may have applied CoreDNS again
		for i, worker := range o.workers() {
			o.awaitPods(t)
			if i%2 == round {
				o.ours = append(o.ours, o.one(t, version, worker))
				o.records = append(o.records, o.nodeRecord(t, o.name(version, worker), worker))
			} else {
				o.byHand = append(o.byHand, o.manually(t, version, worker))
			}
		}
	}
	o.write(t)
}

type outageRun struct {
	*speed
	script       *byHand
	ours, byHand []record.Outage
	records      []v1alpha1.NodeRecord
}

func (o *outageRun) publish(t *testing.T, version string) {
	args := []string{"publish", version}
	if version != to {
		args = append(args, "--programs-of", to)
	}
	o.must(t)(o.Lab.Lab(o.ctx, args...))
}

func (o *outageRun) name(version, node string) string { return version + "-" + node }

// one upgrades one node by a ClusterUpgrade of its own.
func (o *outageRun) one(t *testing.T, version, node string) record.Outage {
	t.Helper()
	name := o.name(version, node)
	return o.outages(t, 1, func() {
		o.apply(t, fmt.Sprintf(patchOne, name, version, node))
		o.eventually(t, 15*time.Minute, name+" has succeeded", func() error { return o.succeededOn(name, 1) })
	})[0]
}

const patchOne = `
apiVersion: kubectl-upgrade.dev/v1alpha1
kind: ClusterUpgrade
metadata: {name: %[1]s}
spec:
  version: %[2]s
  strategy: {method: Reboot}
  nodeSelector: {matchLabels: {kubernetes.io/hostname: %[3]s}}
`

// manually does the same with the script.
func (o *outageRun) manually(t *testing.T, version, node string) record.Outage {
	t.Helper()
	return o.outages(t, 1, func() {
		if err := o.script.upgrade(node, version, "node"); err != nil {
			t.Fatal(err)
		}
		o.eventually(t, time.Minute, "the uncordon is seen", func() error {
			outages, err := record.Outages(o.recorder.Moments())
			if err == nil && len(outages) != 1 {
				err = fmt.Errorf("%d outages", len(outages))
			}
			return err
		})
	})[0]
}

func (o *outageRun) write(t *testing.T) {
	ours, bare := median(lengths(o.ours)), median(lengths(o.byHand))
	var parts [][]string
	for _, name := range partsByHand[2:] {
		parts = append(parts, []string{name, seconds(median(o.script.took[name]))})
	}
	write(t, performance.Section{
		Name: "outage", Order: 11, Title: "Real nodes: a worker out of service", Text: fmt.Sprintf(outageText, outageWorkers),
		Tables: []performance.Table{
			{Columns: figures, Rows: [][]string{
				{fmt.Sprintf("out of service, median of %d", len(o.ours)), "", seconds(ours)},
				{"out of service by the script, median", "", seconds(bare)},
				{"the ratio of both", "1.2 ×", ratio(ours, bare)},
			}},
			{Text: "kubectl-upgrade's steps:", Columns: []string{"", "median"}, Rows: stepRows(o.records)},
			{Text: "The script's:", Columns: []string{"", "median"}, Rows: parts},
		},
	})
}
