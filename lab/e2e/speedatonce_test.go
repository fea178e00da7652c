//go:build e2e

package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/record"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/performance"
)

const (
	atOnceWorkers = 12
	atOnce        = 4
)

const atOnceText = "`make e2e-speed CASE=AtOnce`" + ` reboots %[1]d workers of the [lab](../README.md) by upgrades of type Reboot, one after the other and then with ` + "`maxUnavailable: %[2]d`" + `, with ` + "`settleSeconds: 0`" + `; the time is from the first cordon to the last uncordon. A bare script does the same (drain, reboot, wait until Ready, uncordon), one by one and %[2]d at once, as all nodes share two cores: what it takes longer than a %[2]dth is the machine's. Each worker has one pod that takes 2 s to end.`

// TestSpeedAtOnce measures whether several nodes at once are as much faster.
func TestSpeedAtOnce(t *testing.T) {
	a := &atOnceRun{speed: newSpeed(t, atOnceWorkers)}
	a.bareOne, a.bareAll = a.manually(t, 1), a.manually(t, atOnce)
	a.one, a.all = a.reboots(t, "one-by-one", 1), a.reboots(t, "at-once", atOnce)
	write(t, performance.Section{
		Name: "atonce", Order: 12, Title: "Real nodes: several at once", Text: fmt.Sprintf(atOnceText, atOnceWorkers, atOnce),
		Tables: []performance.Table{{Columns: figures, Rows: [][]string{
			{"one by one", "", seconds(span(a.one))},
			{fmt.Sprintf("%d at once", atOnce), "", seconds(span(a.all))},
			{"the ratio of both", fmt.Sprintf("%.2f ×", 1.0/atOnce), ratio(span(a.all), span(a.one))},
			{"script, one by one", "", seconds(span(a.bareOne))},
			{fmt.Sprintf("script, %d at once", atOnce), "", seconds(span(a.bareAll))},
			{"the ratio of both", "", ratio(span(a.bareAll), span(a.bareOne))},
			{fmt.Sprintf("%d at once, kubectl-upgrade to script", atOnce), "1.1 ×", ratio(span(a.all), span(a.bareAll))},
			{"a worker out of service, one by one: median", "", seconds(median(lengths(a.one)))},
			{fmt.Sprintf("a worker out of service, %d at once: median", atOnce), "", seconds(median(lengths(a.all)))},
		}}},
	})
}

type atOnceRun struct {
	*speed
	one, all, bareOne, bareAll []record.Outage
}

// reboots has kubectl-upgrade reboot all workers, so many at once.
func (a *atOnceRun) reboots(t *testing.T, name string, atOnce int) []record.Outage {
	a.awaitPods(t)
	for _, worker := range a.workers() {
		a.must(t)(a.Exec(a.ctx, worker, "touch", "/run/reboot-required"))
	}
	for _, worker := range a.workers() {
		a.awaitRebootRequired(t, worker, "/run/reboot-required", 6*time.Minute)
	}
	outages := a.outages(t, atOnceWorkers, func() {
		a.apply(t, fmt.Sprintf(rebootAtOnce, name, atOnce))
		a.eventually(t, 15*time.Minute, name+" has succeeded", func() error { return a.upgradeSucceeded(name) })
	})
	a.report(t)(record.Promises(a.recorder.Moments(), atOnce))
	return outages
}

const rebootAtOnce = `
apiVersion: kubectl-upgrade.dev/v1alpha1
kind: ClusterUpgrade
metadata: {name: %s}
spec:
  type: Reboot
  strategy: {maxUnavailable: %d}
`

// manually reboots all workers with the script, so many at once.
func (a *atOnceRun) manually(t *testing.T, atOnce int) []record.Outage {
	a.awaitPods(t)
	script := &byHand{testCluster: a.testCluster, log: t.Logf}
	return a.outages(t, atOnceWorkers, func() {
		turns, done := make(chan bool, atOnce), make(chan error, atOnceWorkers)
		for _, worker := range a.workers() {
			go func() {
				turns <- true
				done <- script.reboot(worker, from, "exec systemctl reboot")
				<-turns
			}()
		}
		for range a.workers() {
			a.must(t)("", <-done)
		}
		a.eventually(t, time.Minute, "all uncordons are seen", func() error {
			outages, err := record.Outages(a.recorder.Moments())
			if err == nil && len(outages) != atOnceWorkers {
				err = fmt.Errorf("%d outages", len(outages))
			}
			return err
		})
	})
}
