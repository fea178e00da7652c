package migrate

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

var update = flag.Bool("update", false, "write the expected output into testdata")

// now is a Sunday.
var now = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// goldenCase is one case of testdata: words of the command line, and settings of the container, up to
// a line ---, and then what they become.
type goldenCase struct{ name, input, want string }

func readCases(t *testing.T, file string) (cases []goldenCase) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, section := range strings.Split(string(data), "== ")[1:] {
		name, rest, _ := strings.Cut(section, "\n")
		input, want, _ := strings.Cut(rest, "---\n")
		cases = append(cases, goldenCase{name, input, strings.TrimRight(want, "\n")})
	}
	return cases
}

// runCases compares what each case becomes with testdata, or with -update writes it.
func runCases(t *testing.T, file string, least int, become func(input string) string) {
	t.Helper()
	cases := readCases(t, file)
	if len(cases) < least {
		t.Errorf("%s has %d cases, want %d", file, len(cases), least)
	}
	var written strings.Builder
	for _, c := range cases {
		got := strings.TrimRight(become(c.input), "\n")
		fmt.Fprintf(&written, "== %s\n%s---\n%s\n\n", c.name, c.input, got)
		if diff := cmp.Diff(c.want, got); diff != "" && !*update {
			t.Errorf("%s: (-want +got):\n%s", c.name, diff)
		}
	}
	if *update {
		if err := os.WriteFile(file, []byte(written.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// parseInput reads the lines of a case: "env NAME=VALUE", "secret NAME", "unread SOURCE", "image IMAGE", "mount
// HOST CONTAINER", "node KEY=VALUE", "whole", "affinity", "workers", and words of the command line,
// one a line.
func parseInput(input string) Kured {
	in := Kured{
		Container:    Container{Image: "ghcr.io/kubereboot/kured:1.23.0", Command: []string{"/usr/bin/kured"}, HostPaths: map[string]string{"/sentinel": "/var/run"}},
		Placement:    Placement{ControlPlane: true},
		ScheduleName: "kured", Now: now,
	}
	for line := range strings.Lines(input) {
		line = strings.TrimSuffix(line, "\n")
		word, rest, _ := strings.Cut(line, " ")
		name, value, _ := strings.Cut(rest, "=")
		switch {
		case strings.HasPrefix(line, "-") || strings.HasPrefix(line, "'"):
			in.Command = append(in.Command, strings.Trim(line, "'"))
		case word == "env":
			in.Variables = append(in.Variables, Variable{Name: name, Value: value})
		case word == "secret":
			in.Variables = append(in.Variables, Variable{Name: rest, Unread: "from Secret kube-system/kured"})
		case word == "image":
			in.Image = rest
		case word == "unread":
			in.Unread = append(in.Unread, rest)
		case word == "mount":
			host, container, _ := strings.Cut(rest, " ")
			in.HostPaths[container] = host
		case word == "node":
			in.NodeSelector = map[string]string{name: value}
		case word == "command":
			in.Command = strings.Fields(rest)
		case word == "whole":
			in.Whole = true
		case word == "affinity":
			in.Affinity = true
		case word == "workers":
			in.ControlPlane = false
		}
	}
	return in
}

// describe prints the result: the rows of what was set, the notes, the windows and the policy.
func describe(r Result) string {
	var b strings.Builder
	for _, row := range r.Rows {
		if row.Set {
			fmt.Fprintf(&b, "%s = %s: %s", row.Setting, row.Value, row.Meaning)
			if row.Becomes != "" {
				fmt.Fprintf(&b, ": %s", row.Becomes)
			}
			if row.Note != "" {
				fmt.Fprintf(&b, " (%s)", row.Note)
			}
			b.WriteString("\n")
		}
	}
	for _, note := range r.Notes {
		fmt.Fprintf(&b, "note: %s\n", note)
	}
	if r.Schedule != nil {
		fmt.Fprintf(&b, "schedule %s in %s\n", r.Schedule.Name, r.Schedule.Spec.TimeZone)
		for _, w := range r.Schedule.Spec.MaintenanceWindows {
			fmt.Fprintf(&b, "  %s: %s to %s %s\n", w.Name, w.StartTime.Format(time.RFC3339), w.EndTime.Format(time.RFC3339), w.Recurrence)
		}
	}
	policy, err := yaml.Marshal(r.Policy)
	if err != nil {
		return err.Error()
	}
	b.Write(policy)
	return b.String()
}

// TestKuredFlags checks what each of kured's flags becomes. What it becomes is valid.
func TestKuredFlags(t *testing.T) {
	runCases(t, "testdata/kured.txt", 40, func(input string) string {
		r := FromKured(parseInput(input))
		if _, err := clusterstate.CompileDrainRules(r.Policy.Strategy.Drain.Rules); err != nil {
			t.Errorf("%s: %v", input, err)
		}
		if r.Schedule != nil {
			if err := schedule.Check(r.Schedule); err != nil {
				t.Errorf("%s: %v", input, err)
			}
			for _, finding := range schedule.Lint(*r.Schedule, now) {
				if !strings.Contains(finding.Message, "shorter than") && !strings.Contains(finding.Message, "too short") {
					t.Logf("%s: %s", strings.TrimSpace(input), finding.Message)
				}
			}
		}
		return describe(r)
	})
}

// TestEveryKuredFlagHasACase checks that no flag is left out of the cases.
func TestEveryKuredFlagHasACase(t *testing.T) {
	text, err := os.ReadFile("testdata/kured.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range kuredFlags {
		if !strings.Contains(string(text), "\n--"+f.name) {
			t.Errorf("no case sets --%s", f.name)
		}
		if f.becomes == nil && f.note == "" {
			t.Errorf("--%s has no note", f.name)
		}
	}
}
