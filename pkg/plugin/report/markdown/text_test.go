package markdown_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/report"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/report/markdown"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/upgradesample"
)

var update = flag.Bool("update", false, "write testdata")

func written(t *testing.T, s clusterstate.Snapshot, at time.Time) string {
	t.Helper()
	r, err := report.New(s, upgradesample.Name, at)
	if err != nil {
		t.Fatal(err)
	}
	return draw(t, r)
}

func draw(t *testing.T, r *report.Report) string {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	return markdown.Text(r, markdown.Options{Zone: zone, Version: "v0.0.0-test"})
}

func TestText(t *testing.T) {
	fleetOf300 := func() (clusterstate.Snapshot, time.Time) { return upgradesample.Fleet(300) }
	for name, of := range map[string]func() (clusterstate.Snapshot, time.Time){
		"example": upgradesample.Example, "running": upgradesample.Running, "fleet": fleetOf300,
	} {
		s, at := of()
		got, file := written(t, s, at), filepath.Join("testdata", name+".md")
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil || string(want) != got {
			t.Errorf("%s differs from what is written now (%v); `go test ./pkg/plugin/report/markdown -update` writes it", file, err)
		}
	}
}

// TestTitleSaysWhereTheUpgradeStands checks that a report of an upgrade that has not ended says what it waits for: one that
// failed is not in progress.
func TestTitleSaysWhereTheUpgradeStands(t *testing.T) {
	for want, alter := range map[string]func(*report.Upgrade){
		"in progress":        func(*report.Upgrade) {},
		"needs a person":     func(u *report.Upgrade) { u.Stalled, u.Reason = true, v1alpha1.ReasonNodeFailed },
		"waits for a person": func(u *report.Upgrade) { u.Reason = v1alpha1.ReasonApprovalRequired },
		"suspended":          func(u *report.Upgrade) { u.Suspended = true },
		"not begun":          func(u *report.Upgrade) { u.Triggered = false },
	} {
		s, at := upgradesample.Running()
		r, err := report.New(s, upgradesample.Name, at)
		if err != nil {
			t.Fatal(err)
		}
		alter(&r.Upgrade)
		if title, _, _ := strings.Cut(draw(t, r), "\n"); !strings.HasSuffix(title, ": "+want) {
			t.Errorf("want %s, got %s", want, title)
		}
	}
}

// TestRollbackIsCalledOne checks that the text about a Rollback says what it was, and why.
func TestRollbackIsCalledOne(t *testing.T) {
	s, at := upgradesample.Example()
	r, err := report.New(s, upgradesample.Name, at)
	if err != nil {
		t.Fatal(err)
	}
	r.Upgrade.Type, r.Upgrade.From, r.Upgrade.To, r.Upgrade.Comment = "Rollback", "v1.34.4", "v1.34.3", "volumes do not mount"
	text := draw(t, r)
	for _, want := range []string{"## Kubelets taken back to v1.34.3 from v1.34.4: ", "| Reason | volumes do not mount |"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text does not say %q", want)
		}
	}
}

// TestShort checks that the report of a large cluster is short enough for a ticket.
func TestShort(t *testing.T) {
	s, at := upgradesample.Fleet(2000)
	if text := written(t, s, at); len(text) > 16<<10 || strings.Count(text, "\n") > 90 {
		t.Errorf("%d bytes in %d lines, want at most 16 KiB in 90", len(text), strings.Count(text, "\n"))
	}
}

// TestUntrustedText checks that texts from the cluster stay texts.
func TestUntrustedText(t *testing.T) {
	const hostile = "<img src=x onerror=alert(1)> [click](https://evil.example) ![x](http://e) | cell | **bold** @everyone\n# title\n```\n\u202e"
	s, at := upgradesample.Example()
	r, err := report.New(s, upgradesample.Name, at)
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.Count(draw(t, r), "\n")
	r.Upgrade.Message, r.Upgrade.RequestedBy, r.Findings[0].Message, r.IgnoreChecks[0].Comment = hostile, hostile, hostile, hostile
	r.Nodes[0].Reason, r.Nodes[0].Message, r.Nodes[0].Name, r.Notes[0] = "X", hostile, hostile, hostile
	for i := range r.Nodes {
		for j := range r.Nodes[i].Waits {
			r.Nodes[i].Waits[j].Message = hostile
		}
	}
	text := draw(t, r)
	if got := strings.Count(text, "\n"); got != rows {
		t.Errorf("%d lines, want %d", got, rows)
	}
	if strings.Contains(text, "\u202e") {
		t.Error("a letter that changes the direction of text is written")
	}
	if !strings.Contains(text, `\<img src=x onerror=alert(1)\>`) || !strings.Contains(text, "@<!-- -->everyone") {
		t.Errorf("the text is not shown as it is:\n%s", text)
	}
	inCode := regexp.MustCompile("`[^`\n]*`")
	rest := strings.NewReplacer("<!-- -->", "", "@<!-- -->", "").Replace(inCode.ReplaceAllString(strings.ReplaceAll(text, "\\`", ""), ""))
	for line := range strings.Lines(rest) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		if found := regexp.MustCompile(`(^|[^\\])[<\[*~]`).FindString(line); found != "" {
			t.Errorf("%q means something in %q", found, line)
		}
		if strings.HasPrefix(line, "| `") && regexp.MustCompile(`[^\\]\|`).FindAllString(line, -1) == nil {
			t.Errorf("no cells in %q", line)
		}
	}
}
