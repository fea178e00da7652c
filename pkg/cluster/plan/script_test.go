package plan_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
)

var update = flag.Bool("update", false, "write what the scripts print into testdata")

// TestScripts runs testdata/*.txt. A script is a small cluster and what happens to it:
// blocks of commands, a line of four dashes, and what they print up to an empty line.
// Lines that begin with # are prose. script.run lists the commands. `go test ./pkg/cluster/plan
// -update` rewrites the outputs: read the diff.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, string(text))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(text), got); diff != "" && !*update {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// play runs a script and returns it with the outputs that it really has.
func play(t *testing.T, text string) string {
	s := &script{sim: newSim(time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC))}
	var out, printed strings.Builder
	output := false
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		switch {
		case output && line != "":
			continue // the old output
		case line == "----":
			checkParts(t, s.Snapshot, s.now)
			out.WriteString("----\n" + printed.String())
			printed.Reset()
			output = true
			continue
		case line == "":
			output = false
		case !strings.HasPrefix(line, "#"):
			if err := s.run(&printed, strings.Fields(line)); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		}
		out.WriteString(line + "\n")
	}
	return out.String()
}

// printPlan prints a plan, a line for each node and upgrade. Only those that are named have their
// messages: each sentence stands in one story.
func printPlan(out *strings.Builder, p plan.Plan, names ...string) {
	if p.Create != nil {
		fmt.Fprintf(out, "creates %s", p.Create.Name)
		if start := p.Create.Spec.StartTime; start != nil {
			fmt.Fprintf(out, ", which starts %s", start.UTC().Format("Jan 2 15:04"))
		}
		out.WriteString("\n")
	}
	if p.AutomaticHold.Holds() {
		fmt.Fprintf(out, "creates nothing: %s: %s\n", p.AutomaticHold.Reason, p.AutomaticHold.Message)
	}
	for _, n := range p.Nodes {
		fmt.Fprintf(out, "%-4s %s -> %s  %s", n.Name, n.From, n.To, n.Decision)
		if n.Slot != "" {
			fmt.Fprintf(out, " %s with %s", n.Release, n.Slot)
			if n.Release == "ControlPlane" {
				fmt.Fprintf(out, " (kubeadm upgrade %s)", strings.ToLower(string(n.Kubeadm)))
			}
		} else if n.Decision == plan.Go {
			fmt.Fprintf(out, " on")
		} else if n.Release == v1alpha1.ReleaseKubeadmAhead {
			fmt.Fprintf(out, " %s", n.Release)
		}
		fmt.Fprintf(out, "  %s", n.Reason)
		if slices.Contains(names, n.Name) {
			fmt.Fprintf(out, ": %s", n.Message)
		}
		if n.Until != nil {
			fmt.Fprintf(out, " [until %s]", n.Until.UTC().Format("Jan 2 15:04"))
		}
		if n.PredictedEnd != nil {
			fmt.Fprintf(out, " {%s to %s}", n.PredictedStart.UTC().Format("Jan 2 15:04:05"), n.PredictedEnd.UTC().Format("Jan 2 15:04:05"))
		}
		out.WriteString("\n")
	}
	for _, u := range p.Statuses {
		out.WriteString(summary(u, slices.Contains(names, u.Name)))
	}
	if p.PredictedStart != nil {
		fmt.Fprintf(out, "begins %s", p.PredictedStart.UTC().Format("Jan 2 15:04:05"))
		if p.PredictedEnd != nil {
			fmt.Fprintf(out, ", ends %s", p.PredictedEnd.UTC().Format("Jan 2 15:04:05"))
		}
		if from := p.PredictedFrom; from.EarliestEnd != nil && from.LatestEnd != nil {
			fmt.Fprintf(out, " (%s to %s)", from.EarliestEnd.UTC().Format("Jan 2 15:04:05"), from.LatestEnd.UTC().Format("Jan 2 15:04:05"))
		}
		fmt.Fprintf(out, ", by %d nodes of %d upgrades", p.PredictedFrom.Nodes, p.PredictedFrom.Upgrades)
		out.WriteString("\n")
	}
	if p.Next != nil {
		fmt.Fprintf(out, "decides again %s\n", p.Next.UTC().Format("2006-01-02 15:04"))
	}
}

func summary(u plan.UpgradeStatus, message bool) string {
	text := fmt.Sprintf("upgrade %s %s %s %s", u.Name, u.Status.Type, u.Status.Progress, u.Status.Outcome)
	for _, c := range u.Status.Conditions {
		if c.Type == "Succeeded" {
			text += " " + c.Reason
			if message {
				text += ": " + c.Message
			}
		}
		if c.Type == "Stalled" && c.Status == "True" {
			text += " (stalled)"
		}
	}
	return strings.Join(strings.Fields(text), " ") + "\n"
}

// ranLine returns a version that the cluster has run.
func ranLine(r v1alpha1.RanVersion) string {
	text := r.Version
	for _, d := range r.Digests {
		text += fmt.Sprintf(" %s %.12s", d.Architecture, d.Digest)
	}
	if r.SinceTime != nil {
		text += " since " + r.SinceTime.UTC().Format("15:04")
	}
	if r.UntilTime != nil {
		text += " until " + r.UntilTime.UTC().Format("15:04")
	}
	if r.Behind > 0 {
		text += fmt.Sprintf(", %d behind", r.Behind)
	}
	for _, why := range []string{r.Problem, r.Blocked} {
		if why != "" {
			text += ": " + why
		}
	}
	return text + "\n"
}

// printRecord prints the record of each node.
func (s *sim) printRecord(out *strings.Builder, upgrade string) {
	clock := func(t *metav1.Time) string {
		if t == nil {
			return "-"
		}
		return t.Format("15:04")
	}
	for _, r := range s.record(upgrade) {
		line := fmt.Sprintf("%-4s %s -> %s  %s to %s, attempts %d  %s", r.Name, r.From, r.To, clock(r.StartTime), clock(r.EndTime), r.Attempts, r.Reason)
		line = strings.TrimRight(line, " ") + duration("staging", r.StagingSeconds) + duration("kubeadm", r.ComponentsSeconds) + duration("reboot", r.RebootSeconds) + duration("restart", r.RestartSeconds) + duration("soft reboot", r.SoftRebootSeconds)
		out.WriteString(line + "\n")
	}
}

func duration(part string, seconds int32) string {
	if seconds == 0 {
		return ""
	}
	return fmt.Sprintf(", %s %s", part, time.Duration(seconds)*time.Second)
}
