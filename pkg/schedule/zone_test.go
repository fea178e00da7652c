package schedule_test

import (
	"archive/zip"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

// TestZonesAreThoseOfGo checks that each name of Go's own database is a zone, as it always was, and means about the same:
// where they differ, the rules have changed since.
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
	names := 0
	for _, f := range database.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		names++
		zone, err := schedule.Zone(f.Name)
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
			continue
		}
		data := read(t, f)
		its, err := time.LoadLocationFromTZData(f.Name, data)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range []time.Time{time.Date(2020, 1, 15, 0, 0, 0, 0, time.UTC), time.Date(2020, 7, 15, 0, 0, 0, 0, time.UTC)} {
			if got, want := at.In(zone).Format(time.RFC3339), at.In(its).Format(time.RFC3339); got != want {
				t.Errorf("%s: %s, want %s", f.Name, got, want)
			}
		}
	}
	if names < 590 {
		t.Errorf("Go's database has %d names", names)
	}
}

func read(t *testing.T, f *zip.File) []byte {
	t.Helper()
	reader, err := f.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Close() }()
	data, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestZonesAreNew checks zones whose rules changed after 2025c, the data of Go 1.26: British Columbia and Alberta have had one
// time since 2026, and Morocco as well (NEWS of the IANA data, 2026b and 2026c).
func TestZonesAreNew(t *testing.T) {
	for name, want := range map[string]string{"America/Vancouver": "-07:00", "America/Edmonton": "-06:00", "Africa/Casablanca": "+00:00"} {
		zone, err := schedule.Zone(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := time.Date(2027, 1, 15, 12, 0, 0, 0, time.UTC).In(zone).Format("-07:00"); got != want {
			t.Errorf("%s: %s in January 2027, want %s", name, got, want)
		}
	}
	if version := schedule.ZoneVersion(); version < "2026c" {
		t.Errorf("version %s", version)
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
