//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/artifacts"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/cgroup"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/record"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/timelimit"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// newestCell is the row of TestNewestSystemd in lab/results/compatibility.md.
const newestCell = "sid-one-node"

// TestNewestSystemd upgrades one node of Debian sid, whose systemd is the newest, while its own
// timer of systemd-sysupdate runs every few seconds. The node is rolled back by the guard,
// upgraded by method Reboot, and given back: `make e2e-sid`. E2E_BASE is another Debian. On a
// machine whose control groups that systemd does not boot on, all of it runs in a virtual
// machine.
func TestNewestSystemd(t *testing.T) {
	base := artifacts.Base(env("E2E_BASE", "sid"))
	groups, err := cgroup.Detect()
	if err != nil {
		t.Fatal(err)
	}
	if groups == cgroup.V1 && base.NeedsVersion2() {
		virtualStory{test: t.Name(), name: "e2e-sid", base: base, broken: []string{brokenHere}}.run(t)
		return
	}
	n := &newest{pagedStory: begin(t)}
	n.testCluster = newLab(t, 1, 0, "--base", base.String())
	n.play([]chapter{
		{"the node is Ready", n.ready},
		{"its timer of systemd-sysupdate runs every few seconds", n.startTimer},
		{"the product is installed", n.manage},
		{"an image that fails is staged, and kept until the window opens", n.stage},
		{"the agent knows the timer", n.checkInventory},
		{"the guard returned the node to its former image", n.rolledBack},
		{"the node was upgraded to an image that works", n.upgraded},
		{"the timer ran in every step and took nothing away", n.checkRuns},
		{"the promises held at every moment", n.checkPromises},
		{"the node is given back", n.givenBack},
	}, n.isVoid)
	if base == "sid" {
		n.writeCompatibility(t, newestCell, from, to, "Reboot, after one that was rolled back", time.Since(n.began))
	}
}

// brokenHere is the kind of image that the guard takes back.
const brokenHere = "hang"

// The upgrades of the story.
const (
	failing = "failing"
	working = "working"
)

type newest struct {
	*testCluster
	pagedStory
	timer  string            // the unit's own name
	files  map[string]string // of the node, before the product came
	staged time.Time         // when the image that fails was staged
}

func (n *newest) ready(t *testing.T) {
	n.must(t)(n.Kube(n.ctx, "wait", "nodes", "--all", "--for", "condition=Ready", "--timeout", timelimit.Scale(time.Minute).String()))
	n.note(t, "\n"+n.must(t)(n.Kube(n.ctx, "get", "nodes", "-o", "wide")))
	n.note(t, "systemd "+n.systemd(t))
	if page := os.Getenv(compatibilityVariable); page != "" {
		if row := movedFrom(t, page, n.systemd(t)); row != "" {
			n.note(t, "sid has moved: the former run was of another build of systemd:\n"+row)
		}
	}
}

// movedFrom returns the row of the former run in a page, if it was of another build of systemd.
func movedFrom(t *testing.T, page, systemd string) string {
	t.Helper()
	row, ran := readRows(t, page)[newestCell]
	if !ran || strings.Contains(row, "| "+systemd+" |") {
		return ""
	}
	return row
}

// TestSidMoves checks that another build than that of the recorded row is noticed.
func TestSidMoves(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	row := "| `" + newestCell + "` | 262 (262.1-1) | v1.34.3 to v1.34.4 |\n"
	if err := os.WriteFile(page, []byte(row), 0o600); err != nil {
		t.Fatal(err)
	}
	for systemd, want := range map[string]string{"262 (262.1-1)": "", "262 (262.1-2)": row, "263 (263-1)": row} {
		if got := movedFrom(t, page, systemd); got != want {
			t.Errorf("systemd %s: got %q, want %q", systemd, got, want)
		}
	}
	if got := movedFrom(t, filepath.Join(t.TempDir(), "none"), "262 (262.1-1)"); got != "" {
		t.Errorf("without a page: got %q", got)
	}
}

// Drop-ins of the timer and its service. The service is the one that systemd ships; after each
// run it says what there is.
const (
	timerEveryFewSeconds = `[Unit]
ConditionVirtualization=

[Timer]
OnBootSec=
OnUnitActiveSec=
OnCalendar=
OnActiveSec=1s
OnUnitInactiveSec=3s
RandomizedDelaySec=0
AccuracySec=100ms
`
	serviceSaysWhatIsLeft = `[Unit]
ConditionVirtualization=
StartLimitIntervalSec=0

[Service]
ExecStopPost=/bin/sh -c 'echo "left: $$(readlink -e /etc/extensions/kubernetes.raw || echo dangling) of" $$(find /opt -name "kubernetes-v*.raw" -printf "%%f ")'
`
)

// startTimer runs the timer by whichever name it has, and what systemd's presets enable beside
// it: a socket that refreshes system extensions when an update has changed them.
func (n *newest) startTimer(t *testing.T) {
	n.timer = strings.TrimSpace(n.must(t)(n.Exec(n.ctx, "cp1", "systemctl", "show", "--value", "--property", "Id", "systemd-sysupdate.timer")))
	script := fmt.Sprintf(`set -e
mkdir -p /etc/systemd/system/%[1]s.d /etc/systemd/system/%[2]s.d
printf %%s '%[3]s' >/etc/systemd/system/%[1]s.d/lab.conf
cat >/etc/systemd/system/%[2]s.d/lab.conf <<'END'
%[4]sEND
systemctl daemon-reload
[ ! -e /usr/lib/systemd/system/systemd-sysupdate-notify-sysext.socket ] || systemctl enable --now systemd-sysupdate-notify-sysext.socket
systemctl enable --now %[1]s
systemctl show --property ExecStartPre,ExecStart %[2]s`, n.timer, n.service(), timerEveryFewSeconds, serviceSaysWhatIsLeft)
	n.note(t, n.timer+" runs\n"+n.must(t)(n.Exec(n.ctx, "cp1", "sh", "-c", script)))
	n.eachSecond(t, 2*time.Minute, "the timer has run", func() error { return n.ranSince(t, n.began, 2) })
	n.files = n.filesOf(t)
}

func (n *newest) service() string { return strings.TrimSuffix(n.timer, ".timer") + ".service" }

// run is a run of the timer's service, and what it left: the file behind the symlink, if there
// is one, and all images.
type run struct {
	ended  time.Time
	active string
	images []string
}

var leftLine = regexp.MustCompile(`^([0-9.]+) .* left: (\S+) of ?(.*)$`)

// runs returns all runs of the timer's service, also of earlier boots.
func (n *newest) runs(t *testing.T) []run {
	t.Helper()
	journal := n.must(t)(n.Exec(n.ctx, "cp1", "journalctl", "--quiet", "--no-pager", "--output", "short-unix", "--unit", n.service()))
	var all []run
	for line := range strings.Lines(journal) {
		match := leftLine.FindStringSubmatch(strings.TrimSpace(line))
		if match == nil {
			continue
		}
		seconds, err := time.ParseDuration(match[1] + "s")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, run{time.Unix(0, int64(seconds)), match[2], strings.Fields(match[3])})
	}
	return all
}

// ranSince returns an error unless the timer's service has run so often since then.
func (n *newest) ranSince(t *testing.T, since time.Time, times int) error {
	t.Helper()
	got := 0
	for _, r := range n.runs(t) {
		if r.ended.After(since) {
			got++
		}
	}
	if got < times {
		return fmt.Errorf("%s has run %d times, want %d", n.service(), got, times)
	}
	return nil
}

func (n *newest) manage(t *testing.T) {
	n.install(t)
	n.connect(t)
	n.eventually(t, 2*time.Minute, "the node's definition is disarmed", n.disarmed)
}

// checkInventory checks that the agent finds the drop-in of the timer by the name that the
// timer has here.
func (n *newest) checkInventory(t *testing.T) {
	n.eventually(t, 2*time.Minute, "the agent finds the drop-in of "+n.timer, func() error {
		inventory, err := n.ours.NodeInventories.Get(n.ctx, "cp1", metav1.GetOptions{})
		if err == nil && !strings.Contains(strings.Join(inventory.SysupdateTimerDropIns, " "), n.timer+".d/lab.conf") {
			err = fmt.Errorf("the inventory has the drop-ins %v, want one of %s", inventory.SysupdateTimerDropIns, n.timer)
		}
		return err
	})
}

// stage has the agent stage the image while the timer does not run, as on a node whose timer
// runs every few hours: otherwise the timer may download the image first.
func (n *newest) stage(t *testing.T) {
	n.must(t)(n.Exec(n.ctx, "cp1", "systemctl", "stop", n.timer, n.service()))
	n.apply(t, scenario.ClosedSchedule(time.Now()))
	n.must(t)(n.Lab.Lab(n.ctx, "publish", to, "--broken", brokenHere))
	time.Sleep(indexRead)
	n.upgradeOne(t, failing, "", brokenImage{node: "cp1", method: v1alpha1.MethodReboot, limit: 60})
	n.eventually(t, 5*time.Minute, "the image is staged", func() error {
		node, err := n.ours.NodeUpgrades.Get(n.ctx, "cp1", metav1.GetOptions{})
		if err == nil && node.Status.Versions.Staged != to {
			err = errors.New(describe(*node))
		}
		return err
	})
	n.must(t)(n.Exec(n.ctx, "cp1", "systemctl", "start", n.timer))
	n.staged = time.Now()
	n.eachSecond(t, 2*time.Minute, "the timer has run three times since", func() error { return n.ranSince(t, n.staged, 3) })
	n.checkLeft(t, n.staged, time.Now(), from, to)
}

// checkLeft checks that each run of the timer that ended between two instants left the active
// image and those of these versions.
func (n *newest) checkLeft(t *testing.T, since, until time.Time, versions ...string) {
	t.Helper()
	for _, r := range n.runs(t) {
		if !r.ended.After(since) || r.ended.After(until) {
			continue
		}
		if r.active == "dangling" {
			t.Errorf("%s: after a run of %s the symlink is dangling", r.ended.UTC().Format(time.TimeOnly), n.service())
		}
		for _, version := range versions {
			if !strings.Contains(strings.Join(r.images, " "), imageName(version)) {
				t.Errorf("%s: after a run of %s the image of %s is gone: there are %v", r.ended.UTC().Format(time.TimeOnly), n.service(), version, r.images)
			}
		}
	}
	if t.Failed() {
		t.Log(n.must(t)(n.Exec(n.ctx, "cp1", "journalctl", "--no-pager", "--unit", n.service(), "--lines", "60")))
	}
}

func (n *newest) rolledBack(t *testing.T) {
	n.apply(t, scenario.OpenSchedule)
	n.eventually(t, 20*time.Minute, "the guard has returned the node", func() error { return n.serves(failing, "cp1") })
	n.guardGone(t, "cp1")
	n.checkTimer(t, failing)
	n.note(t, "\n"+n.must(t)(n.Upgrade(n.ctx, "status")))
}

func (n *newest) upgraded(t *testing.T) {
	n.must(t)(n.Lab.Lab(n.ctx, "publish", to))
	time.Sleep(indexRead)
	n.upgradeOne(t, working, failing, brokenImage{node: "cp1", method: v1alpha1.MethodReboot, limit: 180})
	n.eventually(t, 20*time.Minute, "the upgrade has succeeded", func() error { return n.succeededOn(working, 1) })
	n.eventually(t, 2*time.Minute, "nothing is left over", func() error { return n.nothingLeft() })
	n.checkNodes(t, from, to)
	n.checkMinorStaticPods(t, to)
	n.checkTimer(t, working)
	n.note(t, "\n"+n.must(t)(n.Upgrade(n.ctx, "status")))
}

// checkTimer checks that the timer ran in each longer step of an upgrade, and that the image
// was downloaded once. An image that is gone is downloaded again.
func (n *newest) checkTimer(t *testing.T, upgrade string) {
	t.Helper()
	runs, staged := n.runs(t), 0
	for _, step := range n.stepsOf(t, upgrade) {
		if step.Step == v1alpha1.StepStaging {
			staged++
		}
		if step.EndTime == nil {
			continue
		}
		in := 0
		for _, r := range runs {
			if r.ended.After(step.StartTime.Time) && r.ended.Before(step.EndTime.Time) {
				in++
			}
		}
		took := step.EndTime.Sub(step.StartTime.Time)
		n.note(t, fmt.Sprintf("%s, %s: %s, in which the timer ran %d times", upgrade, step.Step, took.Round(time.Millisecond), in))
		if in == 0 && took > longStep {
			t.Errorf("the timer did not run in %s, which took %s", step.Step, took)
		}
	}
	if staged != 1 {
		t.Errorf("%s was staged %d times, want once", upgrade, staged)
	}
}

// longStep is how long a step is in which the timer has to run.
const longStep = 15 * time.Second

// stepsOf returns the steps of the node in an upgrade, as last seen.
func (n *newest) stepsOf(t *testing.T, upgrade string) (steps []v1alpha1.StepTime) {
	t.Helper()
	for _, m := range n.recorder.Moments() {
		var node v1alpha1.NodeUpgrade
		if m.Resource != v1alpha1.NodeUpgrades.Resource || record.Convert(m, &node) != nil || node.Status.Upgrade == nil {
			continue
		}
		if node.Status.Upgrade.Name == upgrade && len(node.Status.Steps) > 0 {
			steps = node.Status.Steps
		}
	}
	if len(steps) == 0 {
		t.Fatalf("no step of %s was seen", upgrade)
	}
	return steps
}

func (n *newest) checkRuns(t *testing.T) {
	n.checkLeft(t, n.staged, time.Now(), from)
	n.checkLeft(t, time.Now().Add(-10*time.Second), time.Now(), from, to)
}

func (n *newest) checkPromises(t *testing.T) {
	n.report(t)(record.Promises(n.recorder.Moments(), 1))
	n.report(t)(record.Skew(n.recorder.Moments()))
}

// givenBack checks that all is as before the product came, but for the image, which the timer
// goes on to leave alone.
func (n *newest) givenBack(t *testing.T) {
	n.patchPolicy(t, `{"mode":"Observe"}`)
	n.must(t)(n.Kube(n.ctx, "wait", "--for=condition=Managed=false", "nodeupgrades", "--all", "--timeout", timelimit.Scale(5*time.Minute).String()))
	n.must(t)(n.Exec(n.ctx, "cp1", "rm", "-rf", "/var/lib/kubectl-upgrade")) // the snapshots of etcd are kept
	given := time.Now()
	n.eachSecond(t, 2*time.Minute, "the timer has run since", func() error { return n.ranSince(t, given, 2) })
	n.checkLeft(t, given, time.Now(), to)
	if diff := cmp.Diff(withoutKubernetesImage(n.files["cp1"]), withoutKubernetesImage(n.filesOf(t)["cp1"])); diff != "" {
		t.Errorf("the node is not as it was (-before +after):\n%s", diff)
	}
	n.note(t, "\n"+n.must(t)(n.Kube(n.ctx, "get", "nodes", "-o", "wide")))
}
