package machine

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/verb"
)

var update = flag.Bool("update", false, "write the results into testdata")

// TestProse runs the stories in testdata. A paragraph is a command, a line of
// dashes, and the machine's steps after it, one line each:
//
//	Step → Step: action (reason: message)
//
// A paragraph ends when the State no longer changes by itself.
func TestProse(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("listing the stories: %d found, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			w := newWorld()
			var got []string
			for paragraph := range strings.SplitSeq(strings.TrimSpace(string(want)), "\n\n") {
				got = append(got, w.play(t, paragraph))
			}
			text := strings.Join(got, "\n\n") + "\n"
			if len(w.broken) > 0 {
				t.Errorf("broken promises: %v", w.broken)
			}
			if *update {
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(want), text); diff != "" {
				t.Errorf("the story differs (-want +got); run with -update to accept:\n%s", diff)
			}
		})
	}
}

func (w *world) play(t *testing.T, paragraph string) string {
	var out []string
	for line := range strings.SplitSeq(paragraph, "\n") {
		if strings.HasPrefix(line, "----") {
			break
		}
		out = append(out, line)
		if !strings.HasPrefix(line, "#") {
			w.command(t, strings.Fields(line))
		}
	}
	lines := w.runUntilStable(t)
	if len(out) > 0 && strings.HasPrefix(out[len(out)-1], "#") && len(lines) == 0 {
		return strings.Join(out, "\n")
	}
	return strings.Join(append(append(out, "----"), lines...), "\n")
}

// runUntilStable reconciles until nothing changes, and returns a line for each step.
func (w *world) runUntilStable(t *testing.T) []string {
	var lines []string
	for range 100 {
		before, a := w.next()
		w.persist()
		if line := describe(before, w.state, a); line != "" && (len(lines) == 0 || lines[len(lines)-1] != line) {
			lines = append(lines, line)
		}
		w.do(a)
		if !w.asking && !w.changed(a) && cmp.Equal(before, w.state) {
			return lines
		}
	}
	t.Fatalf("the machine does not become stable:\n%s", strings.Join(lines, "\n"))
	return nil
}

// changed reports whether the action has changed anything by now.
func (w *world) changed(a Action) bool {
	switch a.Do {
	case DoNothing:
		return false
	case DoDrain:
		return w.drained.Left == 0
	case DoReboot:
		return w.rebootWorks
	}
	return a.Verb != verb.Pull || w.noPull == ""
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
	if after.Reason != "" {
		line += fmt.Sprintf(" (%s: %s)", after.Reason, after.Message)
	}
	if !after.Until.IsZero() && (BetweenAttempts(after.Step) || after.Step == v1alpha1.StepLocking || after.Step == v1alpha1.StepAborting) {
		line += " until " + after.Until.Format("15:04:05")
	}
	if !after.RetryAt.IsZero() {
		line += " again at " + after.RetryAt.Format("15:04:05")
	}
	return line
}

func (w *world) command(t *testing.T, words []string) {
	t.Helper()
	arg := strings.Join(words[1:], " ")
	switch words[0] {
	case "want":
		w.want(arg)
	case "delete": // the upgrade
		w.spec, w.reserved = w.nothing(), false
		w.made++
	case "replace": // the upgrade, with another one of the same name
		w.made++
		w.want(w.spec.Upgrade.Name)
	case "unmanaged": // the coordinator deletes the NodeUpgrade
		w.spec, w.reserved, w.managed = w.nothing(), false, false
	case "managed":
		w.managed = true
	case "min-ready":
		d, err := time.ParseDuration(arg)
		if err != nil {
			t.Fatal(err)
		}
		w.spec.MinReadySeconds = ptr.To(int32(d.Seconds()))
	case "want-reboot":
		w.wantReboot(arg)
	case "method":
		w.spec.Method = v1alpha1.Method(arg)
	case "mounted": // below /usr or /opt
		w.blockers = words[1:]
	case "looks": // the agent gathers the host's facts, as it does now and then
		w.seenAt, w.seenBlockers, w.host.ConfProblem = w.now, w.blockers, w.confs
	case "refresh": // what a restart that fails leaves behind
		w.refresh = arg
	case "os": // the operating system
		w.host.RebootRequired, w.stubborn = arg != "content", arg == "asks again and again"
	case "links": // a person points the symlink elsewhere
		w.host.Active = arg
	case "control-plane":
		w.host.ControlPlane, w.host.ControlPlaneVersion = true, oldVersion
	case "snapshot": // the coordinator requires one, or does not
		w.spec.EtcdSnapshot = arg == "required"
	case "pull":
		w.noPull = strings.TrimPrefix(arg, "possible")
	case "bus-fails": // once, when that verb is started
		w.busFails = verb.Verb(arg)
	case "release":
		w.spec.Release = v1alpha1.Release(arg)
		w.reserved = arg != "None"
	case "withhold": // the release without its slot
		w.spec.Release, w.reserved = v1alpha1.Release(arg), false
	case "wait": // the coordinator does not release the node, and says why in its condition
		w.spec.Release, w.reserved = v1alpha1.ReleaseNone, false
	case "gate":
		w.gateless = arg == "untold"
		w.gate = Gate{Open: arg == "open", Reason: v1alpha1.ReasonWindowClosed, Message: "no window is open"}
	case "closes": // the gate, for a reason, and for how long if that is known
		w.gate = Gate{Reason: v1alpha1.Reason(words[1]), Message: strings.Join(words[3:], " ")}
		if d, err := time.ParseDuration(words[2]); err == nil && d > 0 {
			w.gate.Until = w.now.Add(d)
		}
	case "work":
		w.settle(arg == "ends")
	case "pods":
		fmt.Sscanf(arg, "%d", &w.pods)
		w.blocked = strings.HasSuffix(arg, "blocked")
	case "on-timeout": // of the drain
		w.spec.Drain.OnTimeout = v1alpha1.OnTimeout(arg)
	case "pass":
		d, err := time.ParseDuration(arg)
		if err != nil {
			t.Fatal(err)
		}
		w.now = w.now.Add(d)
	case "person":
		w.foreignCordon = arg == "cordons"
		w.node.Unschedulable, w.node.OurCordon = w.foreignCordon, false
	case "power":
		w.boot()
	case "agent":
		w.crash()
	case "reboot":
		w.rebootWorks, w.refused = arg == "works", ""
		if why, refused := strings.CutPrefix(arg, "refused "); refused {
			w.refused = why
		}
	case "kubelet":
		w.stuckKubelet = arg == "stuck"
		w.mute = arg == "mute"
		if arg == "starts" {
			w.kubelet = w.host.Merged
		}
		w.report()
	case "health":
		w.healthy, w.untold = arg == "good", arg == "untold"
	case "abandon": // a person abandons the node, and the coordinator frees its slot
		w.abandon()
	case "lease":
		w.held, w.reserved = "", false
	case "state":
		w.lose()
	case "merges": // the next boot merges another version than asked for
		w.host.Active, w.host.Merged, w.kubelet = arg, arg, arg
	case "timer": // the node's own systemd-sysupdate can change the symlink
		w.host.Armed = true
	case "host":
		w.silent = strings.TrimPrefix(arg, "answers")
	case "confs": // have a problem; that it was fixed shows in the next facts
		w.confs = arg
		if arg != "" {
			w.host.ConfProblem = arg
		}
	default:
		t.Fatalf("unknown command %q", words)
	}
}
