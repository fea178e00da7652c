//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/record"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/performance"
)

// speed is a cluster whose upgrades are timed. Each test below writes its own section of
// lab/results/performance.md: `make e2e-speed`.
type speed struct{ *testCluster }

// newSpeed creates a cluster without settle time, which a script would not wait for either.
// Each worker has a pod of its own that takes two seconds to end, so that all drains are alike.
func newSpeed(t *testing.T, workers int) *speed {
	s := &speed{newCluster(t, 1, workers)}
	if _, err := s.StartWeb(s.ctx); err != nil { // its image is that of the pods
		t.Fatal(err)
	}
	s.must(t)(s.Kube(s.ctx, "-n", "default", "delete", "deployment,poddisruptionbudget,service", "web"))
	s.patchPolicy(t, noSettle)
	s.apply(t, scenario.OpenSchedule)
	s.keepDNS(t)
	for _, worker := range s.workers() {
		s.must(t)("", s.Slow(s.ctx, worker, "2s"))
	}
	s.awaitPods(t)
	return s
}

const noSettle = `{"strategy":{"settleSeconds":0}}`

// keepDNS keeps CoreDNS on the control plane: its pods take seconds to end, and would be part of
// some drains only.
func (s *speed) keepDNS(t *testing.T) {
	s.must(t)(s.Kube(s.ctx, "-n", "kube-system", "patch", "deployment", "coredns", "--type", "merge", "-p",
		`{"spec":{"template":{"spec":{"nodeSelector":{"node-role.kubernetes.io/control-plane":""}}}}}`))
	s.must(t)(s.Kube(s.ctx, "-n", "kube-system", "rollout", "status", "deployment/coredns", "--timeout", "3m"))
}

// awaitPods waits until the pods of all workers run again.
func (s *speed) awaitPods(t *testing.T) {
	for _, worker := range s.workers() {
		s.must(t)(s.Kube(s.ctx, "-n", "default", "rollout", "status", "deployment/slow-"+worker, "--timeout", "3m"))
	}
}

func (s *speed) workers() []string { return s.nodes[1:] }

// measure runs one part with a recording of its own. What a machine that stood still measures
// is void.
func (s *speed) measure(t *testing.T, run func()) []record.Moment {
	t.Helper()
	s.stopRecording()
	s.record()
	s.eventually(t, time.Minute, "the recording has begun", func() error {
		if got := len(s.recorder.Moments()); got < len(s.nodes) {
			return fmt.Errorf("%d moments", got)
		}
		return nil
	})
	began := time.Now()
	run()
	s.checkStill(t, began)
	return s.recorder.Moments()
}

func (c *testCluster) checkStill(t *testing.T, began time.Time) {
	t.Helper()
	if stalls := c.still.Between(began, time.Now()); len(stalls) > 0 {
		t.Fatal(c.told(began, time.Now(), "nothing is written"))
	}
}

// outages returns when nodes were cordoned while run ran; as many as nodes have to be.
func (s *speed) outages(t *testing.T, nodes int, run func()) []record.Outage {
	t.Helper()
	outages, err := record.Outages(s.measure(t, run))
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

// measured are the packages whose changes may change what these tests measure.
var measured = []string{"pkg/node", "pkg/rules", "pkg/cluster", "pkg/clusterstate"}

// write writes a section. Its notes are a person's judgement, so the last ones stay.
func write(t *testing.T, section performance.Section) {
	page := performance.Open(t)
	section.Notes, section.Measures = page.Last(t, section.Name).Notes, measured
	page.Record(t, section)
	for _, table := range section.Tables {
		for _, row := range table.Rows {
			t.Log(row)
		}
	}
}

// handOffWorkers is how many workers follow one another.
const handOffWorkers = 8

const handOffText = "`make e2e-speed CASE=HandOff`" + ` upgrades real nodes of the [lab](../README.md) by a patch with method Reboot, one after the other: a control plane and %d workers on one machine with two cores, with ` + "`settleSeconds: 0`" + `. The hand-off is the time from one node's uncordon to the next one's cordon, as a watch from outside sees them.`

// TestSpeedHandOff measures how soon the next node follows.
func TestSpeedHandOff(t *testing.T) {
	s := newSpeed(t, handOffWorkers)
	s.must(t)(s.Lab.Lab(s.ctx, "publish", to))
	moments := s.measure(t, func() {
		s.apply(t, fmt.Sprintf(patchBy, to, v1alpha1.MethodReboot))
		s.eventually(t, 20*time.Minute, to+" has succeeded", func() error { return s.upgradeSucceeded(to) })
	})
	scenario.Timeline(os.Stdout, s.nodeRecords(t, to))
	s.report(t)(record.Promises(moments, 1))
	handOffs, err := record.HandOffs(moments)
	if err != nil {
		t.Fatal(err)
	}
	if len(handOffs) != handOffWorkers {
		t.Fatalf("%d hand-offs, want %d: %+v", len(handOffs), handOffWorkers, handOffs)
	}
	write(t, performance.Section{
		Name: "handoff", Order: 10, Title: "Real nodes: from one to the next", Text: fmt.Sprintf(handOffText, handOffWorkers),
		Tables: handOffTables(handOffs),
	})
}
