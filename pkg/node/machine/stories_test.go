package machine

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

var update = flag.Bool("update", false, "write the results into testdata")

// TestStories runs the stories in testdata. A paragraph is a command, a line of
// dashes, and the machine's steps after it, one line each:
//
//	Step → Step: action (reason)
//
// A paragraph ends when the State no longer changes by itself. sentences.golden has the message of
// each reason in each step, once.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("listing the stories: %d found, %v", len(files), err)
	}
	sentences := map[string]bool{}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			m := newModel()
			m.sentences = sentences
			var got []string
			for paragraph := range strings.SplitSeq(strings.TrimSpace(string(want)), "\n\n") {
				got = append(got, m.play(t, paragraph))
			}
			text := strings.Join(got, "\n\n") + "\n"
			if len(m.broken) > 0 {
				t.Errorf("broken promises: %v", m.broken)
			}
			compare(t, file, text)
		})
	}
	if ran := flag.Lookup("test.run").Value.String(); ran == "" || strings.HasSuffix(ran, "TestStories") {
		compare(t, "testdata/sentences.golden", strings.Join(slices.Sorted(maps.Keys(sentences)), "\n")+"\n")
	}
}

// compare compares the text with that of the file, or writes it there.
func compare(t *testing.T, file, text string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("%s differs (-want +got); run with -update to accept:\n%s", file, diff)
	}
}

func (m *model) play(t *testing.T, paragraph string) string {
	var out []string
	for line := range strings.SplitSeq(paragraph, "\n") {
		if strings.HasPrefix(line, "----") {
			break
		}
		out = append(out, line)
		if !strings.HasPrefix(line, "#") {
			m.command(t, strings.Fields(line))
		}
	}
	lines := m.runUntilStable(t)
	if len(out) > 0 && strings.HasPrefix(out[len(out)-1], "#") && len(lines) == 0 {
		return strings.Join(out, "\n")
	}
	return strings.Join(append(append(out, "----"), lines...), "\n")
}

// runUntilStable reconciles until nothing changes, and returns a line for each step.
func (m *model) runUntilStable(t *testing.T) []string {
	var lines []string
	for range 100 {
		before, a := m.next()
		m.persist()
		if m.state.Reason != "" {
			m.sentences[fmt.Sprintf("%s: %s: %s", m.state.Step, m.state.Reason, m.state.Message)] = true
		}
		if line := describe(before, m.state, a) + m.shownConditions(a); line != "" && (len(lines) == 0 || lines[len(lines)-1] != line) {
			lines = append(lines, line)
		}
		m.do(a)
		if !m.gathering && !m.changed(a) && cmp.Equal(before, m.state) {
			return lines
		}
	}
	t.Fatalf("the machine does not become stable:\n%s", strings.Join(lines, "\n"))
	return nil
}

// shownConditions notes the Node's conditions if a story asks for them, whenever they change:
// an agent writes them when a step does not only pass.
func (m *model) shownConditions(a Action) string {
	passes := a.Do == DoNothing && m.state.Step != m.conditionsStep
	m.conditionsStep = m.state.Step
	shows, known := NodeConditions(m.state, m.observed)
	if text := fmt.Sprint(shows); m.tellsConditions && known && !passes && text != m.conditions {
		m.conditions = text
		return " " + text
	}
	return ""
}

// changed reports whether the action has changed anything by now.
func (m *model) changed(a Action) bool {
	switch a.Do {
	case DoNothing:
		return false
	case DoDrain:
		return m.drained.Left == 0
	case DoLook:
		return len(m.looked.Attached) == 0 && m.looked.Problem == ""
	case DoReboot:
		return m.rebootWorks
	case DoSoftReboot:
		return m.softReboot != "nothing" && m.rebootProblem == ""
	}
	return a.Verb != verb.Pull || m.pullProblem == ""
}

func describe(before, after State, a Action) string {
	if cmp.Equal(before, after) && a.Do == DoNothing {
		return ""
	}
	line := fmt.Sprintf("%s → %s", before.Step, after.Step)
	if before.Step == after.Step {
		line = string(after.Step)
	}
	if a.Do != DoNothing {
		line += ": " + strings.ToUpper(a.String()[:1]) + a.String()[1:]
	}
	if a.Delete {
		line += " by deleting"
	}
	if a.Do == DoDrain && !a.Disrupt {
		line += " but what must not be disrupted"
	}
	if after.Reason != "" {
		line += fmt.Sprintf(" (%s)", after.Reason)
	}
	if !after.Until.IsZero() && (BetweenAttempts(after.Step) || after.Step == v1alpha1.StepLocking || after.Step == v1alpha1.StepAborting) {
		line += " until " + after.Until.Format("15:04:05")
	}
	if !after.RetryAt.IsZero() {
		line += " again at " + after.RetryAt.Format("15:04:05")
	}
	return line
}

func (m *model) command(t *testing.T, words []string) {
	t.Helper()
	arg := strings.Join(words[1:], " ")
	switch words[0] {
	case "conditions": // are told from now on, when they change
		m.tellsConditions, m.conditions = true, fmt.Sprint([]string{})
	case "want":
		m.want(arg)
	case "delete": // the upgrade
		m.spec, m.reserved = m.idleSpec(), false
		m.deletions++
	case "replace": // the upgrade, with another one of the same name
		m.deletions++
		m.want(m.spec.Upgrade.Name)
	case "unmanaged": // the coordinator deletes the NodeUpgrade
		m.spec, m.reserved, m.managed = m.idleSpec(), false, false
	case "give-back": // the node is no longer managed
		m.spec, m.reserved, m.managed, m.giveBack = m.idleSpec(), false, false, true
	case "managed":
		m.managed, m.giveBack = true, false
	case "settle", "min-ready":
		d, err := time.ParseDuration(arg)
		if err != nil {
			t.Fatal(err)
		}
		m.spec.SettleSeconds = ptr.To(int32(d.Seconds()))
		if words[0] == "min-ready" {
			m.spec.SettleSeconds, m.spec.MinReadySeconds = ptr.To[int32](120), ptr.To(int32(d.Seconds()))
		}
	case "want-back": // a Rollback, from the version that the node has run for a while; or "want-back UPGRADE alone"
		m.wantBack(words[1])
		m.spec.HoldAfter = len(words) > 2
	case "want-reboot": // or "want-reboot UPGRADE always"
		if len(words) > 2 {
			m.wantRebootAlways(words[1])
			break
		}
		m.wantReboot(arg)
	case "want-certificates":
		m.wantCertificates(arg)
	case "method":
		m.spec.Method = v1alpha1.Method(arg)
	case "mounted": // below /usr or /opt
		m.blockers = words[1:]
	case "gather": // the agent gathers the host's facts, as it does periodically
		m.gatheredAt, m.gatheredBlockers, m.host.ConfProblem = m.now, m.blockers, m.confs
		m.gatheredKubelet = m.kubeletProblem()
	case "refresh": // what a restart that fails leaves behind
		m.refresh = arg
	case "os": // the operating system
		m.host.RebootRequired, m.rebootsAlways = arg != "content", arg == "asks again and again"
	case "links": // a person points the symlink elsewhere
		m.host.Active = arg
	case "packages": // Kubernetes comes from them
		m.usePackages(arg == "merged")
	case "installs": // a person installs packages of that version, for the next boot
		m.packages = arg
	case "control-plane":
		m.host.ControlPlane, m.host.ControlPlaneVersion = true, oldVersion
	case "snapshot": // the coordinator requires one, or does not
		m.setSnapshot(arg == "required")
	case "pull":
		m.pullProblem = strings.TrimPrefix(arg, "possible")
	case "bus-fails": // once, when that verb is started
		m.busFails = verb.Verb(arg)
	case "release":
		m.spec.Release = v1alpha1.Release(arg)
		m.reserved = v1alpha1.Release(arg).Granted()
	case "withhold": // the release without its slot
		m.spec.Release, m.reserved = v1alpha1.Release(arg), false
	case "wait": // the coordinator does not release the node, and says why in its condition
		m.spec.Release, m.reserved = v1alpha1.ReleaseNone, false
	case "gate":
		m.gateUnknown = arg == "unknown"
		m.gate = clusterstate.Hold{}
		if arg != "open" {
			m.gate = clusterstate.Hold{Reason: v1alpha1.ReasonWindowClosed, Message: "no window is open"}
		}
	case "closes": // the gate, for a reason, and for how long if that is known
		m.gate = clusterstate.Hold{Reason: v1alpha1.Reason(words[1]), Message: strings.Join(words[3:], " ")}
		if d, err := time.ParseDuration(words[2]); err == nil && d > 0 {
			m.gate.Until = ptr.To(m.now.Add(d))
		}
	case "work":
		m.settle(arg == "ends")
	case "pods":
		fmt.Sscanf(arg, "%d", &m.pods)
		m.blocked, m.spared = strings.HasSuffix(arg, "blocked"), strings.HasSuffix(arg, "spared")
	case "do-not-disrupt": // drain.doNotDisruptSeconds
		d, err := time.ParseDuration(arg)
		if err != nil {
			t.Fatal(err)
		}
		m.spec.Drain.DoNotDisruptSeconds = ptr.To(int32(d.Seconds()))
	case "detach-within": // drain.volumesDetachedSeconds
		d, err := time.ParseDuration(arg)
		if err != nil {
			t.Fatal(err)
		}
		m.spec.Drain.VolumesDetachedSeconds = ptr.To(int32(d.Seconds()))
	case "volumes": // that are attached
		m.volumes, m.volumesUnread = words[1:], ""
	case "volumes-unread": // and why
		m.volumesUnread = arg
	case "on-timeout": // of the drain
		m.spec.Drain.OnTimeout = v1alpha1.OnTimeout(arg)
	case "pass":
		d, err := time.ParseDuration(arg)
		if err != nil {
			t.Fatal(err)
		}
		m.now = m.now.Add(d)
	case "person":
		m.foreignCordon = arg == "cordons" && (!m.node.Unschedulable || m.foreignCordon)
		m.node.Unschedulable = arg == "cordons"
	case "forge": // another client sets the slot annotation
		m.node.SlotMark = arg
	case "power":
		m.boot()
	case "guard": // returns the node to its former version, or is about to
		if !m.rollBack() {
			t.Fatal("there is no activation to roll back")
		}
		m.host.Rollback.FinishedAt = map[bool]time.Time{true: m.now}[arg == "returned"]
	case "agent":
		m.crash()
	case "soft-reboot": // what one does: what it should, "nothing", or it merges the "former" version
		m.softReboot = strings.TrimPrefix(arg, "works")
	case "cannot": // be soft-rebooted
		m.host.Node.SoftRebootBlocker = &v1alpha1.Problem{Reason: v1alpha1.SystemdTooOld, Message: arg}
	case "reboot":
		m.rebootWorks, m.rebootProblem = arg == "works", ""
		if why, refused := strings.CutPrefix(arg, "refused "); refused {
			m.rebootProblem = why
		}
	case "lacks": // a part that the node had, or nothing
		m.lacks = nil
		if arg != "" {
			m.lacks = strings.Split(arg, "; ")
		}
	case "kept-out": // what keeps pods away, or nothing
		m.kept = nil
		if arg != "" {
			m.kept = []string{arg}
		}
	case "parts":
		m.wholeUnknown = arg == "unknown"
	case "api": // the API server
		m.apiSilent = arg == "silent"
	case "kubelet":
		if arg == "dies" {
			m.kill()
			return
		}
		m.stuckKubelet = arg == "stuck"
		m.kubeletSilent = arg == "silent"
		if arg == "starts" {
			m.kubelet = m.host.Merged
		}
		m.report()
	case "health":
		m.healthy, m.healthUnknown = arg == "good", arg == "unknown"
	case "abandon": // a person abandons the node, and the coordinator frees its slot
		m.abandon()
	case "lease":
		m.held, m.reserved = "", false
	case "state":
		m.loseState()
	case "merges": // the next boot merges another version than asked for
		m.host.Active, m.host.Merged, m.kubelet = arg, arg, arg
	case "timer": // the node's own systemd-sysupdate can change the symlink
		m.host.Armed = true
	case "host":
		m.hostProblem = strings.TrimPrefix(arg, "answers")
	case "missing": // the file of the image that runs
		m.host.MissingImage = arg
	case "images-gone": // the kubelet removes container images that no pod uses
		m.host.ImagesMissing, m.pulled, m.gatheredAt = []string{"kube-apiserver"}, false, m.now
	case "configuration-changes": // a person changes the ClusterConfiguration
		m.configurationChanged, m.gatheredAt = true, m.now
	case "confs": // have a problem; that it was fixed shows in the next facts
		m.confs = arg
		if arg != "" {
			m.host.ConfProblem = arg
		}
	default:
		t.Fatalf("unknown command %q", words)
	}
}
