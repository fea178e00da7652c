package report_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/report"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/upgradesample"
)

var update = flag.Bool("update", false, "write testdata")

// golden compares with a file in testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != string(got) {
		t.Errorf("%s differs from what is made now; `go test ./pkg/plugin/report -update` writes it, then read the difference", file)
	}
}

func indented(t *testing.T, value any) []byte {
	t.Helper()
	text, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}

// TestSnapshots keeps the clusters of the tests as files for `kubectl upgrade report
// --snapshot`.
func TestSnapshots(t *testing.T) {
	for name, of := range samples {
		s, at := of()
		golden(t, name+"-snapshot.json", indented(t, struct {
			APIVersion string    `json:"apiVersion"`
			Kind       string    `json:"kind"`
			TakenAt    time.Time `json:"takenAt"`
			clusterstate.Snapshot
		}{v1alpha1.GroupVersion.String(), "ClusterSnapshot", at, s}))
	}
}

var samples = map[string]func() (clusterstate.Snapshot, time.Time){"example": upgradesample.Example, "running": upgradesample.Running}

// TestReports compares reports of an upgrade that has ended, and of one that has not.
func TestReports(t *testing.T) {
	for name, of := range samples {
		s, at := of()
		r, err := report.New(s, upgradesample.Name, at)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, name+".json", indented(t, r))
	}
}
