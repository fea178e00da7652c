//go:build e2e

package e2e

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/record"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
)

// soakRun is a long run on one cluster: round after round, with a measurement after each.
type soakRun struct {
	*testCluster
	*choice
	seed     uint64
	began    time.Time
	lasted   time.Duration
	done     []soakRound
	samples  []sample
	moments  int
	broken   []record.Broken
	compacts []live // etcd's data at the start and at the end
}

// soakRound is a round that has ended.
type soakRound struct {
	*faultRun
	took   time.Duration
	passed bool
	// requests is how many requests per minute kubectl-upgrade made. Zero: the API server
	// was restarted, and with it its counters.
	requests float64
}

// soakSetup keeps few records, so that the oldest are deleted during a run, and lets the API
// server count the requests of kubectl-upgrade. It changes no priority.
const soakSetup = `
apiVersion: kubectl-upgrade.dev/v1alpha1
kind: UpgradePolicy
metadata: {name: cluster}
spec: {historyLimit: 3}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: kubectl-upgrade}
spec:
  matchingPrecedence: 8999
  priorityLevelConfiguration: {name: workload-low}
  distinguisherMethod: {type: ByUser}
  rules:
    - subjects: [{kind: Group, group: {name: "system:serviceaccounts:kubectl-upgrade"}}]
      resourceRules: [{apiGroups: ["*"], resources: ["*"], verbs: ["*"], clusterScope: true, namespaces: ["*"]}]
      nonResourceRules: [{nonResourceURLs: ["*"], verbs: ["*"]}]
`

// TestSoak upgrades a cluster again and again for SOAK_DURATION (1h), with faults of TestFaults
// in about half of the rounds, and fails if anything is left over after a round, if a promise
// is broken, or if something grows. SOAK_SEED repeats the choices of an earlier run, and the
// run writes the page that SOAK_PAGE names (`make e2e-soak DURATION=8h SEED=4711`).
func TestSoak(t *testing.T) {
	duration, err := time.ParseDuration(env("SOAK_DURATION", "1h"))
	if err != nil {
		t.Fatal(err)
	}
	seed, err := strconv.ParseUint(env("SOAK_SEED", fmt.Sprint(rand.Uint32())), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("SOAK_SEED=%d", seed)
	c := newCluster(t, 1, 3, "--update-engine")
	c.apply(t, scenario.OpenSchedule)
	c.apply(t, onePod("stuck"))
	c.apply(t, soakSetup)
	if err := c.reset(true); err != nil {
		t.Fatal(err)
	}
	s := &soakRun{testCluster: c, choice: newChoice(seed), seed: seed, began: time.Now()}
	s.skipFormer(t)
	defer s.writePage(t)
	for s.rounds == 0 || time.Since(s.began) < duration {
		s.round(t)
	}
	s.lasted = time.Since(s.began)
	s.compact(t)
	s.judge(t)
}

// skipFormer removes the patches that the cluster has had already: with E2E_REUSE it is that of
// an earlier run.
func (s *soakRun) skipFormer(t *testing.T) {
	t.Helper()
	node, err := s.kube.CoreV1().Nodes().Get(s.ctx, "cp1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.left = slices.DeleteFunc(s.left, func(p *soakPatch) bool { return p.version <= node.Status.NodeInfo.KubeletVersion })
}

// round runs one round, and measures afterwards. The one that warms up is not counted.
func (s *soakRun) round(t *testing.T) {
	t.Helper()
	r := soakRound{faultRun: s.next()}
	r.testCluster = s.testCluster
	before, began := s.counted(t), time.Now()
	r.passed = t.Run(fmt.Sprintf("%s %s", r.id, r.title()), r.run)
	r.took = time.Since(began)
	s.moments += len(s.recorder.Moments())
	after := s.counted(t)
	if after.number == 0 {
		t.Error("the API server counts no requests of kubectl-upgrade: its FlowSchema is not in use")
	}
	r.requests = after.perMinute(before)
	s.broken = append(s.broken, r.broken(t)...)
	s.checkSkew(t)
	if err := s.reset(!r.passed); err != nil {
		t.Fatalf("the cluster cannot be brought back to where the next round may begin: %v", err)
	}
	if s.rounds == 1 {
		s.compact(t)
		return
	}
	s.done = append(s.done, r)
	s.measure(t)
}

// checkSkew checks the versions at every moment of the round. The round checks the rest.
func (s *soakRun) checkSkew(t *testing.T) {
	t.Helper()
	skew, err := record.Skew(s.recorder.Moments())
	s.report(t)(skew, err)
	s.broken = append(s.broken, skew...)
}

// kind returns what the round does.
func (f *faultRun) kind() string {
	if f.soaks == nil {
		return "reboots of w1 and w2"
	}
	return "patch by method " + string(f.soaks.method)
}

func (f *faultRun) title() string {
	title := f.kind()
	if f.soaks != nil {
		title += " to " + f.soaks.version
	}
	if f.name != noFault.name {
		title += ", " + f.name
		if !f.throughout {
			title += " at " + string(f.step)
		}
	}
	return title
}
