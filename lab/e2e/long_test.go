//go:build e2e

package e2e

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/ledger"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/record"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
)

// minors has a patch of each minor, in the order of the upgrades.
var minors = []string{"v1.32.13", "v1.33.13", "v1.34.4", "v1.35.4", "v1.36.1"}

// longRun is a cluster that is upgraded through all minors and never goes away. A web
// service and a stateful workload with local data run on it.
type longRun struct {
	*testCluster
	ledger *ledger.Writer
	// reboots is how often each node has to reboot.
	reboots int
}

// TestLong upgrades three control planes and a worker from 1.32 to 1.36, each minor by one
// command. What a minor needs is found by the checks before, and done as they advise:
// `make e2e-long`.
func TestLong(t *testing.T) {
	l := newLongRun(t)
	l.apply(t, scenario.OpenSchedule)
	for i, to := range minors[1:] {
		from := minors[i]
		if prepare := l.preparations()[to]; prepare != nil && !t.Run("what "+minorOf(to)+" needs is found before", prepare) {
			t.FailNow()
		}
		if !t.Run(from+" to "+to+" by one command", func(t *testing.T) { l.minor(t, from, to) }) {
			t.FailNow()
		}
	}
	t.Run("the promises held at every moment", l.checkPromises)
	t.Run("the web service answered every request", l.checkServed)
	t.Run("the stateful workload lost nothing", l.checkLedger)
}

func newLongRun(t *testing.T) *longRun {
	t.Helper()
	l := &longRun{testCluster: newCluster(t, 3, 1, "--version", minors[0])}
	l.startClient(t)
	l.must(t)(l.Kube(l.ctx, "-n", "default", "patch", "deployment", "web", "--type", "merge", "-p", anywhere))
	l.must(t)(l.Kube(l.ctx, "-n", "default", "rollout", "status", "deployment/web", "--timeout", "2m"))
	l.addFlag(t)
	url, err := l.StartLedger(l.ctx, l.controlPlanes()...)
	if err != nil {
		t.Fatal(err)
	}
	l.ledger = ledger.New(url, &http.Transport{DialContext: l.machine.DialContext}, 100*time.Millisecond)
	go l.ledger.Run(l.ctx)
	l.watchControlPlane(t)
	return l
}

// minor upgrades every node by one command, and checks the cluster.
func (l *longRun) minor(t *testing.T, from, to string) {
	l.must(t)(l.Lab.Lab(l.ctx, "publish", to))
	began := time.Now()
	said := l.must(t)(l.Upgrade(l.ctx, "apply", minorOf(to), "--yes", "--timeout", "40m"))
	took := time.Since(began)
	t.Logf("kubectl upgrade apply %s took %s:\n%s", minorOf(to), took.Round(time.Second), said)
	l.reboots++
	l.checkMinorDone(t, from, to)
	l.writeCompatibility(t, "minor-"+minorOf(to), from, to, "one command", took)
}

// checkMinorDone checks a minor that has ended.
func (l *longRun) checkMinorDone(t *testing.T, from, to string) {
	t.Helper()
	l.checkMinor(t, from, to)
	scenario.Timeline(os.Stdout, l.nodeRecords(t, to))
	l.checkLedger(t)
	l.checkServed(t)
}

// checkPromises checks every moment of the whole run, and the answers to all probes.
func (l *longRun) checkPromises(t *testing.T) {
	l.checkSlots(t, 1)
	l.report(t)(record.Skew(l.recorder.Moments()))
	l.checkControlPlaneAnswered(t)
	want := map[string]int{}
	for _, name := range l.nodes {
		want[name] = l.reboots
	}
	l.checkReboots(t, want)
}

// checkLedger checks that every number that the stateful workload has acknowledged is there.
func (l *longRun) checkLedger(t *testing.T) {
	t.Helper()
	l.eventually(t, time.Minute, "the stateful workload answers", func() error { return l.ledger.Check(l.ctx) })
	r := l.ledger.Report()
	t.Logf("%d numbers written, none lost; %d attempts were repeated, the longest time without a write was %s", r.Acknowledged, r.Repeated, r.Gap.Round(time.Millisecond))
	if r.Acknowledged < 1000 {
		t.Errorf("only %d numbers were written", r.Acknowledged)
	}
}

// minorOf returns the minor of a version, "v1.34".
func minorOf(version string) string { return version[:strings.LastIndex(version, ".")] }
