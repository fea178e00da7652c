//go:build e2e

package e2e

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/record"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// fault is one that is injected while an upgrade reboots w1 and then w2, or patches nodes.
type fault struct {
	name string
	what string // for the page
	// patch makes it an upgrade from v1.34.3 to v1.34.4. Nil: a reboot of w1 and w2.
	patch *patch
	// at are the steps of the first node at which it is injected: each is a case. With
	// throughout they are one case, and the fault is injected at each.
	at         []v1alpha1.Step
	throughout bool
	// blocked keeps w1 in Draining, by a PodDisruptionBudget, until the fault is healed.
	blocked bool
	before  action // before the upgrade is created
	inject  action
	// stages makes it a patch that is only staged, as the window is closed. publish are
	// further flags of lab publish.
	stages  bool
	publish []string
	says    says          // what the status has to say before the fault is healed
	lasts   time.Duration // at least
	heal    action
	then    action // after the upgrade has ended; nil: it has to have succeeded
	// struck are the nodes that the fault itself reboots, and foreign those that a person
	// cordons.
	struck, foreign []string
	// lostSlot is true if the fault itself takes the slot from w1 while w1 is out of service.
	lostSlot bool
}

// action is something that is done to the cluster, by a person or by chance.
type action func(*faultRun) error

// says is a line of `kubectl upgrade status`: of a node, or of the upgrade if node is empty.
// words is a regular expression that its message matches. Without a reason it is a line that
// the regular expression matches.
type says struct {
	node   string
	reason v1alpha1.Reason
	words  string
}

// faultRun is one case while it runs.
type faultRun struct {
	*testCluster
	fault
	id        string     // the name of the case, and of its ClusterUpgrade
	soaks     *soakPatch // in place of the reboots of w1 and w2
	step      v1alpha1.Step
	injected  time.Time            // first
	said      string               // the reason that the status gave
	forgotten map[string]time.Time // nodes that a person declared lost
}

// TestFaults injects faults while nodes are rebooted by an upgrade. Each case begins and ends
// with all nodes in service and nothing left over, and is recorded from outside. FAULT_CASES
// is a regular expression that selects cases (`make e2e-faults CASE=partition-draining`), and
// E2E_REUSE=1 runs them on the cluster that an earlier run with E2E_KEEP=1 has left.
func TestFaults(t *testing.T) {
	selected := regexp.MustCompile(env("FAULT_CASES", ""))
	runs := slices.DeleteFunc(faultRuns(), func(r *faultRun) bool { return !selected.MatchString(r.id) })
	if len(runs) == 0 && len(guardCases(selected)) == 0 {
		t.Fatalf("FAULT_CASES=%s selects no case", selected)
	}
	passed := passedCases(t)
	if runs = slices.DeleteFunc(runs, func(r *faultRun) bool { return passed[r.id] }); len(runs) == 0 {
		return // it selects cases of TestGuard, or all have passed
	}
	c := newCluster(t, 1, 3, "--update-engine")
	c.apply(t, scenario.OpenSchedule)
	c.apply(t, onePod("stuck"))
	if err := c.reset(true); err != nil {
		t.Fatal(err)
	}
	for _, r := range runs {
		r.testCluster = c
		passed := t.Run(r.id, r.run)
		if err := c.reset(!passed); err != nil {
			t.Fatalf("the cluster cannot be brought back to where the next case may begin: %v", err)
		}
	}
}

// faultRuns returns all cases.
func faultRuns() []*faultRun {
	var runs []*faultRun
	for _, f := range slices.Concat(faults, patchFaults) {
		if f.throughout || len(f.at) == 1 {
			runs = append(runs, &faultRun{fault: f, id: f.name, step: f.at[0]})
			continue
		}
		for _, step := range f.at {
			runs = append(runs, &faultRun{fault: f, id: f.name + "-" + strings.ToLower(string(step)), step: step})
		}
	}
	return runs
}

func (f *faultRun) run(t *testing.T) {
	f.startRecording(t)
	began := time.Now()
	defer func() { f.writeRow(t, began) }()
	f.begin(t)
	f.injectAtSteps(t)
	switch {
	case f.says.reason != "":
		f.awaitSays(t)
	case f.says.words != "":
		f.awaitLine(t)
	}
	time.Sleep(time.Until(f.injected.Add(f.lasts)))
	if f.heal != nil {
		f.must(t)("", f.heal(f))
	}
	if f.blocked {
		f.must(t)("", f.unblock())
	}
	if f.then == nil {
		f.eventually(t, 8*time.Minute, "the upgrade has succeeded", f.succeeded)
	} else {
		f.must(t)("", f.then(f))
	}
	f.eventually(t, 4*time.Minute, "nothing is left over", func() error { return f.nothingLeft(f.foreign...) })
	f.report(t)(f.broken(t), nil)
}

// startRecording records this case alone, in place of the case before.
func (f *faultRun) startRecording(t *testing.T) {
	t.Helper()
	f.stopRecording()
	f.record()
	f.eventually(t, 30*time.Second, "the nodes are recorded", func() error {
		known := map[string]bool{}
		for _, m := range f.recorder.Moments() {
			known[m.Resource] = true
		}
		if !known["nodes"] || !known[v1alpha1.NodeUpgrades.Resource] || !known[v1alpha1.MaintenanceSchedules.Resource] {
			return fmt.Errorf("only %v", known)
		}
		return nil
	})
}

// start creates the upgrade.
func (f *faultRun) start() error {
	if f.patch != nil {
		if err := f.beforePatch(); err != nil {
			return err
		}
	}
	if f.blocked {
		if err := f.block(); err != nil {
			return err
		}
	}
	if f.before != nil {
		if err := f.before(f); err != nil {
			return err
		}
	}
	switch {
	case f.stages:
		return f.startStaging()
	case f.patch != nil:
		return f.startPatch()
	default:
		return f.startReboot()
	}
}

// startReboot lets the operating systems of w1 and w2 ask for a reboot, and creates the
// upgrade.
func (f *faultRun) startReboot() error {
	for _, node := range []string{"w1", "w2"} {
		err := waitUntil(time.Minute, func() error { // the case before may have cut its power at the very end
			_, err := f.Exec(f.ctx, node, "systemctl", "is-active", "--quiet", "dbus.socket", "kubelet.service")
			return err
		})
		if err != nil {
			return fmt.Errorf("%s is not up: %w", node, err)
		}
		if _, err := f.Lab.Lab(f.ctx, "update-engine", node, "need-reboot"); err != nil {
			return err
		}
	}
	err := waitUntil(time.Minute, func() error {
		for _, node := range []string{"w1", "w2"} {
			u, err := f.ours.NodeUpgrades.Get(f.ctx, node, metav1.GetOptions{})
			if err != nil || !u.Status.Reboot.Required {
				return fmt.Errorf("%s reports no reboot: %w", node, err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return f.createUpgrade(f.id)
}

// startStaging offers a patch, lets the fault begin, and creates the upgrade.
func (f *faultRun) startStaging() error {
	for _, node := range f.nodes {
		if _, err := f.Exec(f.ctx, node, "sh", "-c", "rm -f /opt/extensions/kubernetes/kubernetes-"+to+"-* "+kept+"kubernetes-"+to+"-*"); err != nil {
			return err
		}
	}
	steps := all(closed, onLab(append([]string{"publish", to}, f.publish...)...), f.inject, applied(text(fmt.Sprintf(`
apiVersion: kubectl-upgrade.dev/v1alpha1
kind: ClusterUpgrade
metadata: {name: %s}
spec: {version: %s}
`, f.id, to))))
	f.inject = none
	return steps(f)
}

func (f *faultRun) createUpgrade(name string) error {
	if f.soaks != nil {
		return f.KubeApply(f.ctx, patchManifest(name, f.soaks.version, f.soaks.patch))
	}
	return f.KubeApply(f.ctx, fmt.Sprintf(`
apiVersion: kubectl-upgrade.dev/v1alpha1
kind: ClusterUpgrade
metadata: {name: %s}
spec:
  type: Reboot
  strategy: {settleSeconds: 4, drain: {timeoutSeconds: 600}}
`, name))
}

// injectAtSteps waits for the steps of the first node, and injects the fault at each.
func (f *faultRun) injectAtSteps(t *testing.T) {
	t.Helper()
	left := map[v1alpha1.Step]bool{f.step: true}
	if f.throughout {
		for _, step := range f.fault.at {
			left[step] = true
		}
	}
	seen := int64(0)
	for len(left) > 0 {
		f.eventually(t, 3*time.Minute, fmt.Sprintf("%s at %v", f.first(), left), func() error {
			step, at := nextStep(f.recorder.Moments(), f.first(), seen, left)
			if step == "" {
				return fmt.Errorf("not yet")
			}
			seen = at
			delete(left, step)
			return nil
		})
		if f.injected.IsZero() {
			f.injected = time.Now()
		}
		if err := f.inject(f); err != nil {
			t.Fatal(err)
		}
	}
}

// awaitSays waits until `kubectl upgrade status` gives the reason, as JSON and as text.
func (f *faultRun) awaitSays(t *testing.T) {
	t.Helper()
	words := regexp.MustCompile(f.says.words)
	f.eachSecond(t, 3*time.Minute, fmt.Sprintf("the status of %q is %s", f.says.node, f.says.reason), func() error {
		got, err := f.statusOf(f.says.node)
		if err != nil {
			return err
		}
		if got.Until != nil {
			got.Message += ", until " + got.Until.UTC().Format(time.TimeOnly)
		}
		if got.Reason != f.says.reason || !words.MatchString(got.Message) {
			return fmt.Errorf("reason %s: %s", got.Reason, got.Message)
		}
		screen, err := f.Upgrade(f.ctx, "status")
		if err != nil {
			return err
		}
		if !strings.Contains(screen, string(f.says.reason)) || !words.MatchString(strings.Join(strings.Fields(screen), " ")) {
			return fmt.Errorf("the output has no %s with %q:\n%s", f.says.reason, f.says.words, screen)
		}
		f.said = fmt.Sprintf("%s: %s", got.Reason, got.Message)
		if f.says.node != "" {
			f.said = f.says.node + " " + f.said
		}
		t.Log("\n" + screen)
		return nil
	})
}

// awaitLine waits until `kubectl upgrade status` prints the line.
func (f *faultRun) awaitLine(t *testing.T) {
	t.Helper()
	words := regexp.MustCompile(".*" + f.says.words + ".*")
	f.eachSecond(t, 3*time.Minute, fmt.Sprintf("the status has a line with %q", f.says.words), func() error {
		screen, err := f.Upgrade(f.ctx, "status")
		if err != nil {
			return err
		}
		if f.said = strings.TrimSpace(words.FindString(screen)); f.said == "" {
			return fmt.Errorf("the output has no such line:\n%s", screen)
		}
		t.Log("\n" + screen)
		return nil
	})
}

// succeeded returns an error unless the upgrade has succeeded.
func (f *faultRun) succeeded() error {
	upgrade, err := f.ours.ClusterUpgrades.Get(f.ctx, f.id, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if upgrade.Status.Outcome != v1alpha1.OutcomeSucceeded {
		return fmt.Errorf("upgrade %s has outcome %q, %s nodes done", f.id, upgrade.Status.Outcome, upgrade.Status.Progress)
	}
	return nil
}

// broken returns the promises that were broken at any moment of the case.
func (f *faultRun) broken(t *testing.T) []record.Broken {
	t.Helper()
	moments := f.recorder.Moments()
	for node, since := range f.forgotten {
		moments = record.Without(moments, node, since)
	}
	served := moments
	if f.step == uncordons || f.step == unlocking {
		// The fault strikes a node that is in service again: once its slot is free, others go on.
		for _, node := range f.struck {
			freed, err := record.FreedAt(moments, node)
			if err != nil {
				t.Fatal(err)
			}
			if !freed.IsZero() {
				served = record.Without(served, node, freed)
			}
		}
	}
	slots, err := record.Promises(served, 1, f.foreign...)
	if err != nil {
		t.Fatal(err)
	}
	if f.lostSlot {
		slots = slices.DeleteFunc(slots, func(b record.Broken) bool { return strings.Contains(b.Message, "w1 is down") })
	}
	hours, err := record.OutOfHours(moments, f.struck...)
	if err != nil {
		t.Fatal(err)
	}
	cordons, err := record.LostCordons(moments, f.foreign...)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Concat(slots, hours, cordons)
}
