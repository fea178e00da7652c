//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// The windows of TestLongBySchedule: how long each is open, and from one to the next.
const (
	windowOpen  = 20 * time.Minute
	windowEvery = 22 * time.Minute
)

// TestLongBySchedule takes the same way without any command: four ClusterUpgrades and a
// schedule are applied once, as from Git, and the cluster is frozen in the middle.
func TestLongBySchedule(t *testing.T) {
	l := newLongRun(t)
	l.must(t)(l.Exec(l.ctx, "w1", "rm", kubeletDefaults)) // that is TestLong's
	l.must(t)(l.Exec(l.ctx, "w1", "systemctl", "restart", "kubelet"))
	for _, to := range minors[1:] {
		l.must(t)(l.Lab.Lab(l.ctx, "publish", to))
	}
	l.apply(t, windows(time.Now()))
	l.apply(t, upgrades())
	began := time.Now()
	for i, to := range minors[1:] {
		from := minors[i]
		if !t.Run(from+" to "+to+" by schedule", func(t *testing.T) {
			if to == "v1.34.4" {
				l.frozen(t)
			}
			l.eventually(t, 40*time.Minute, to+" has succeeded", func() error { return l.upgradeSucceeded(to) })
			l.reboots++
			l.checkMinorDone(t, from, to)
			l.writeCompatibility(t, "scheduled-"+minorOf(to), from, to, "by schedule", time.Since(began))
			began = time.Now()
		}) {
			t.FailNow()
		}
	}
	t.Run("the promises held at every moment", l.checkPromises)
	t.Run("everything began in a window", func(t *testing.T) { l.checkHours(t) })
}

// windows returns a schedule whose first window is open now.
func windows(now time.Time) string {
	var spans []scenario.Span
	for i := range 12 {
		start := now.Add(time.Duration(i)*windowEvery - time.Minute).Truncate(time.Second)
		spans = append(spans, scenario.Span{Start: start, End: start.Add(windowOpen)})
	}
	return scenario.Windows(spans...)
}

// upgrades returns a ClusterUpgrade for each minor. The check etcd-version is ignored for the
// reason that its advice names.
func upgrades() string {
	var manifest strings.Builder
	for _, to := range minors[1:] {
		ignored := "[]"
		if to == "v1.34.4" {
			ignored = "[{id: etcd-version, comment: no member of etcd was ever replaced}]"
		}
		fmt.Fprintf(&manifest, `---
apiVersion: kubectl-upgrade.dev/v1alpha1
kind: ClusterUpgrade
metadata: {name: %[1]s}
spec: {version: %[1]s, ignoreChecks: %[2]s}
`, to, ignored)
	}
	return manifest.String()
}

// frozen freezes the cluster while a node is drained for the second minor: that node goes back
// into service, and nothing begins.
func (l *longRun) frozen(t *testing.T) {
	l.eventually(t, 20*time.Minute, "a node leaves service for v1.34.4", func() error { return l.anyNodeAt(v1alpha1.StepDraining) })
	l.apply(t, scenario.Freeze(time.Now()))
	l.awaitUpgradeStatus(t, v1alpha1.ReasonExcluded)
	l.checkNothingBegins(t, time.Minute)
	l.must(t)(l.Kube(l.ctx, "delete", "maintenanceschedule", "freeze"))
}
