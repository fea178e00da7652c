//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/record"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// speedWorkers is how many workers a machine of two cores runs without being busy with them.
const speedWorkers = 6

// together is how many of them go at once in one part.
const together = 3

// TestSpeed measures how long nodes are out of service, and how soon the next one follows, on
// nodes that a bare script also takes out of service in the same run. It writes its section of
// docs/performance.md: `make bench-lab`.
func TestSpeed(t *testing.T) {
	s := &speed{testCluster: newCluster(t, 1, speedWorkers)}
	if _, err := s.StartWeb(s.ctx); err != nil {
		t.Fatal(err)
	}
	s.patchPolicy(t, `{"strategy":{"settleSeconds":0}}`)
	s.apply(t, scenario.OpenSchedule)
	s.must(t)(s.Lab.Lab(s.ctx, "publish", to))
	for _, part := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"a patch, one node after the other", s.patch},
		{"a bare script", s.script},
		{"a reboot, one worker after the other", func(t *testing.T) { s.oneByOne = s.reboots(t, "one-by-one", 1) }},
		{"a reboot, several workers at once", func(t *testing.T) { s.atOnce = s.reboots(t, "at-once", together) }},
	} {
		if !t.Run(part.name, part.run) {
			t.FailNow()
		}
	}
	if stalls := s.still.Stalls(); len(stalls) > 0 {
		t.Fatalf("void, nothing is written: %s", s.stalls())
	}
	s.writePage(t)
}

// speed is what TestSpeed has measured.
type speed struct {
	*testCluster
	patched, scripted, oneByOne, atOnce []record.Outage
}

// outages runs one part with a recording of its own, and returns when nodes were cordoned
// meanwhile.
func (s *speed) outages(t *testing.T, nodes int, run func()) []record.Outage {
	t.Helper()
	s.stopRecording()
	s.record()
	s.eventually(t, time.Minute, "the recording has begun", func() error {
		if got := len(s.recorder.Moments()); got < len(s.nodes) {
			return fmt.Errorf("%d moments", got)
		}
		return nil
	})
	run()
	outages, err := record.Outages(s.recorder.Moments())
	if err != nil {
		t.Fatal(err)
	}
	if len(outages) != nodes {
		t.Fatalf("%d nodes were cordoned, want %d: %v", len(outages), nodes, outages)
	}
	for _, o := range outages {
		t.Logf("%s was out of service for %s, from %s", o.Node, o.Length().Round(time.Millisecond), o.Cordoned.Format("15:04:05.000"))
	}
	return outages
}

// patch upgrades all nodes to a patch.
func (s *speed) patch(t *testing.T) {
	s.patched = s.outages(t, len(s.nodes), func() {
		s.apply(t, fmt.Sprintf(patchBy, to, v1alpha1.MethodReboot))
		s.eventually(t, 15*time.Minute, to+" has succeeded", func() error { return s.upgradeSucceeded(to) })
	})
	if !strings.HasPrefix(s.patched[0].Node, "cp") {
		t.Fatalf("%s went first, want the control plane", s.patched[0].Node)
	}
	scenario.Timeline(os.Stdout, s.nodeRecords(t, to))
}

// script takes each worker out of service as a bare script does, without any pause: drain,
// reboot, Ready, uncordon.
func (s *speed) script(t *testing.T) {
	s.scripted = s.outages(t, speedWorkers, func() {
		for _, worker := range s.workers() {
			before := s.bootOf(t, worker)
			s.must(t)(s.Kube(s.ctx, "drain", worker, "--ignore-daemonsets", "--delete-emptydir-data"))
			_, _ = s.Exec(s.ctx, worker, "systemctl", "reboot") // its connection may end first
			s.eventually(t, 3*time.Minute, worker+" is Ready after its reboot", func() error { return s.readyAgain(worker, before) })
			s.must(t)(s.Kube(s.ctx, "uncordon", worker))
		}
	})
}

// reboots has kubectl-upgrade reboot all workers, so many at once.
func (s *speed) reboots(t *testing.T, name string, atOnce int) []record.Outage {
	for _, worker := range s.workers() {
		s.must(t)(s.Exec(s.ctx, worker, "touch", "/run/reboot-required"))
	}
	for _, worker := range s.workers() {
		s.eachSecond(t, 2*time.Minute, worker+" reports that it needs a reboot", func() error { return s.needsReboot(worker) })
	}
	outages := s.outages(t, speedWorkers, func() {
		s.apply(t, fmt.Sprintf(rebootAtOnce, name, atOnce))
		s.eventually(t, 15*time.Minute, name+" has succeeded", func() error { return s.upgradeSucceeded(name) })
	})
	s.report(t)(record.Promises(s.recorder.Moments(), atOnce))
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

func (s *speed) workers() []string { return s.nodes[1:] }

func (s *speed) needsReboot(name string) error {
	node, err := s.ours.NodeUpgrades.Get(s.ctx, name, metav1.GetOptions{})
	if err == nil && !node.Status.Reboot.Required {
		err = fmt.Errorf("%s needs no reboot", name)
	}
	return err
}

func (s *speed) bootOf(t *testing.T, name string) string {
	t.Helper()
	node, err := s.kube.CoreV1().Nodes().Get(s.ctx, name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return node.Status.NodeInfo.BootID
}

// readyAgain returns an error unless the node is Ready in another boot.
func (s *speed) readyAgain(name, before string) error {
	var last record.Node
	err := record.Walk(s.recorder.Moments(), func(_ record.Moment, state record.State) { last = state.Nodes[name] })
	if err == nil && (!last.Ready || last.BootID == before) {
		err = fmt.Errorf("%s: Ready %t, in its former boot %t", name, last.Ready, last.BootID == before)
	}
	return err
}
