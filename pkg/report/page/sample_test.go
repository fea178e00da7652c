package page

import (
	"os"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/internal/upgradesample"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/report"
)

func TestSamples(t *testing.T) {
	dir := os.Getenv("OUT")
	if dir == "" {
		t.Skip()
	}
	zone, _ := time.LoadLocation("Europe/Berlin")
	for name, make := range map[string]func() (fleet.Snapshot, time.Time){
		"example": upgradesample.Example, "running": upgradesample.Running, "fleet": func() (fleet.Snapshot, time.Time) { return upgradesample.Fleet(5000) },
	} {
		s, at := make()
		r, err := report.New(s, upgradesample.Name, at)
		if err != nil {
			t.Fatal(err)
		}
		f, _ := os.Create(dir + "/" + name + ".html")
		if err := Write(f, r, Options{Zone: zone, Version: "v0.0.0-test"}); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
}
