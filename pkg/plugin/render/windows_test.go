package render_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

func TestWindows(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	day := 24 * time.Hour
	openings := []schedule.Opening{
		{Start: now, End: now.Add(210 * time.Minute), Windows: []string{"weekend/sunday-night"}},
		{Start: now.Add(6 * day), End: now.Add(7 * day), Windows: []string{"weekend/saturday-night", "weekend/sunday-night", "office/lunch"}},
		{Start: now.Add(200 * day), Windows: []string{"always/always"}},
	}
	o := render.Options{Now: now, Zone: berlin}
	golden(t, "windows", render.Windows(openings, o))
	o.Width = 70
	golden(t, "windows-70", render.Windows(openings, o))
	o.Width, o.Color = 0, true
	golden(t, "windows-color", render.Windows(openings, o))
	golden(t, "windows-none", render.Windows(nil, o))
}

// TestWindowList checks the exact JSON, on which scripts rely.
func TestWindowList(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for want, openings := range map[string][]schedule.Opening{
		`{"apiVersion":"output.kubectl-upgrade.dev/v1alpha1","kind":"WindowList","items":[]}`: nil,
		`{"apiVersion":"output.kubectl-upgrade.dev/v1alpha1","kind":"WindowList","items":[{"start":"2026-11-22T01:00:00Z","end":"2026-11-22T05:00:00Z","windows":["weekend/sunday-night"]}]}`: {
			{Start: time.Date(2026, 11, 22, 2, 0, 0, 5000, berlin), End: time.Date(2026, 11, 22, 6, 0, 0, 0, berlin), Windows: []string{"weekend/sunday-night"}},
		},
		`{"apiVersion":"output.kubectl-upgrade.dev/v1alpha1","kind":"WindowList","items":[{"start":"2026-11-22T01:30:00Z","windows":["always/always"]}]}`: {
			{Start: now, Windows: []string{"always/always"}},
		},
	} {
		got, err := json.Marshal(view.NewWindowList(openings))
		if err != nil || string(got) != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	}
}
