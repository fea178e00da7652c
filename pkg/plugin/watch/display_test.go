package watch

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

func newTestScreen(out *bytes.Buffer, height int) Display {
	size := func() (int, int, bool) { return 80, height, true }
	return NewScreen(out, size, func() render.Options { return render.Options{Width: 80, Zone: time.UTC} })
}

func TestScreenDrawsOnlyWhatChanged(t *testing.T) {
	var out bytes.Buffer
	s := newTestScreen(&out, 20)
	if out.String() != enterScreen {
		t.Errorf("it begins with %q", out.String())
	}
	s.Show(Frame{Picture: "one\n"})
	out.Reset()
	s.Show(Frame{Picture: "one\n"})
	if out.Len() > 0 {
		t.Errorf("the same frame was drawn twice: %q", out.String())
	}
	s.Show(Frame{Picture: "two\n"})
	if !strings.Contains(out.String(), "two") || strings.Contains(out.String(), "one") {
		t.Errorf("the second frame: %q", out.String())
	}
	out.Reset()
	s.Show(Frame{Picture: "two\n", Unreachable: true})
	if !strings.Contains(out.String(), "The API server does not answer.") {
		t.Errorf("an old frame does not say so: %q", out.String())
	}
	out.Reset()
	s.Close()
	if out.String() != leaveScreen+"two\n" {
		t.Errorf("it leaves %q behind", out.String())
	}
}

// TestScreenEndsWithWhatCame checks that the last picture of an upgrade is not that of one which goes on.
func TestScreenEndsWithWhatCame(t *testing.T) {
	var out bytes.Buffer
	s := newTestScreen(&out, 20)
	p := view.Progress{Upgrade: view.Upgrade{Name: "u", Outcome: v1alpha1.OutcomeSucceeded, Message: "all 2 nodes run v1.34.4"}}
	s.Show(Frame{Progress: &p, Ended: true})
	out.Reset()
	s.Close()
	if got := out.String(); !strings.Contains(got, "All 2 nodes run v1.34.4.\n") || !strings.Contains(got, "\nkubectl upgrade report u ") || strings.Contains(got, "Progress:") {
		t.Errorf("it leaves %q behind", got)
	}
}

// TestMemoryKeepsTimes checks that the last frame has the times that earlier ones had, and how long all was expected to take
// when it began.
func TestMemoryKeepsTimes(t *testing.T) {
	begin := time.Date(2026, 12, 24, 18, 0, 0, 0, time.UTC)
	end, late := begin.Add(30*time.Minute), begin.Add(50*time.Minute)
	var m memory
	frame := func(at time.Duration, predicted *time.Time, outcome v1alpha1.Outcome, steps ...v1alpha1.StepTime) view.Progress {
		p := view.Progress{PredictedEnd: predicted, Upgrade: view.Upgrade{TriggerTime: &begin, Outcome: outcome}, Nodes: []view.NodeProgress{{Node: view.Node{Name: "w1", Steps: steps}}}}
		m.keep(&p, clusterstate.Snapshot{}, begin.Add(at))
		return p
	}
	frame(time.Second, &end, "", v1alpha1.StepTime{Step: v1alpha1.StepLocking})
	if p := frame(10*time.Minute, &late, ""); len(p.Nodes[0].Steps) > 0 {
		t.Errorf("a node that begins again shows old steps: %+v", p)
	}
	if p := frame(31*time.Minute, nil, v1alpha1.OutcomeSucceeded); len(p.Nodes[0].Steps) != 1 || p.Expected != 30*time.Minute || !p.Unmeasured {
		t.Errorf("the last frame: %+v", p)
	}
}

func TestScreenIsNotOverfull(t *testing.T) {
	for height := range 12 {
		var out bytes.Buffer
		s := newTestScreen(&out, height)
		out.Reset()
		s.Show(Frame{Picture: strings.Repeat("line\n", 30)})
		// The footer, the empty line above it, and a line of the picture are always drawn.
		if lines := strings.Count(out.String(), "\n") + 1; lines > max(height, 3) {
			t.Errorf("%d lines on a terminal of %d: %q", lines, height, out.String())
		}
		if !strings.Contains(out.String(), "lines more") {
			t.Errorf("height %d: it does not say that lines are missing: %q", height, out.String())
		}
	}
}

func TestScreenRemovesEscapes(t *testing.T) {
	var out bytes.Buffer
	s := newTestScreen(&out, 20)
	s.Show(Frame{Picture: "a\x1b]0;title\x07b"})
	s.Close()
	if strings.Contains(out.String(), "\x1b]") {
		t.Errorf("an escape sequence of the cluster reached the terminal: %q", out.String())
	}
}

func TestLogWritesEachChangeOnce(t *testing.T) {
	var out bytes.Buffer
	now := time.Date(2026, 12, 24, 18, 0, 0, 0, time.UTC)
	l := NewLog(&out, "prod-eu-1", func() time.Time { return now })
	status := func(step v1alpha1.Step) view.Status {
		return view.Status{Nodes: []view.Node{{Name: "w1", Step: step}}}
	}
	show := func(f Frame) string {
		out.Reset()
		l.Show(f)
		return out.String()
	}
	if got := show(Frame{Status: status(v1alpha1.StepDraining)}); !strings.HasPrefix(got, "2026-12-24T18:00:00Z cluster prod-eu-1\n2026-12-24T18:00:00Z ") {
		t.Errorf("at first: %q", got)
	}
	for _, test := range []struct {
		name, want string
		frame      Frame
	}{
		{"the same again", "", Frame{Status: status(v1alpha1.StepDraining)}},
		{"the API server is away", "2026-12-24T18:00:00Z the API server does not answer\n", Frame{Status: status(v1alpha1.StepDraining), Unreachable: true}},
		{"it is still away", "", Frame{Status: status(v1alpha1.StepDraining), Unreachable: true}},
		{"it is back", "2026-12-24T18:00:00Z the API server answers again\n", Frame{Status: status(v1alpha1.StepDraining)}},
	} {
		if got := show(test.frame); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
	if got := show(Frame{Status: status(v1alpha1.StepRebooting)}); !strings.Contains(got, "w1") || !strings.Contains(got, "Rebooting") || strings.Count(got, "\n") != 1 {
		t.Errorf("another step: %q", got)
	}
}
