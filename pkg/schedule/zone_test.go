package schedule_test

import (
	"archive/zip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

// TestZonesAreThoseOfGo checks that zones.txt has the names of Go's own database, which every
// program has, whatever its machine has.
func TestZonesAreThoseOfGo(t *testing.T) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	database, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer database.Close()
	var want []string
	for _, f := range database.File {
		if !strings.HasSuffix(f.Name, "/") {
			want = append(want, f.Name)
		}
	}
	slices.Sort(want)
	got, err := os.ReadFile("zones.txt")
	if err != nil || string(got) != strings.Join(want, "\n")+"\n" {
		t.Errorf("zones.txt (%v) has not the %d names of Go's database", err, len(want))
	}
	for _, name := range want {
		if _, err := schedule.Zone(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestZonesOfOneMachine checks that names which are another zone, or none, on other machines are refused.
func TestZonesOfOneMachine(t *testing.T) {
	for name, want := range map[string]string{
		"localtime": "another zone on every machine", "posixrules": "another zone", "Local": "another zone", "right/UTC": "is not an IANA time zone", "posix/UTC": "is not an IANA time zone",
		"utc": "did you mean UTC?", "EUROPE/berlin": "did you mean Europe/Berlin?", "berlin": "did you mean Europe/Berlin?", "Mars": "such as Europe/Berlin", "UTC\nGMT": "is not", "../UTC": "is not",
	} {
		if _, err := schedule.Zone(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", name, err, want)
		}
	}
}
