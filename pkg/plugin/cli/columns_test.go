package cli_test

import (
	"os"
	"path/filepath"
	"testing"
)

func TestCustomColumns(t *testing.T) {
	file := filepath.Join(t.TempDir(), "schedules.yaml")
	if err := os.WriteFile(file, []byte(`
apiVersion: kubectl-upgrade.dev/v1alpha1
kind: MaintenanceSchedule
metadata: {name: a}
spec:
  maintenanceWindows:
  - {name: one, startTime: "2030-01-01T00:00:00Z", endTime: "2030-01-01T04:00:00Z"}
  - {name: two, startTime: "2030-01-01T02:00:00Z", endTime: "2030-01-01T05:00:00Z"}
  - {name: three, startTime: "2030-01-02T02:00:00Z", endTime: "2030-01-02T05:00:00Z"}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	for columns, want := range map[string]string{
		"OPENS:.start,WINDOWS:.windows[*]":       "OPENS                  WINDOWS\n2030-01-01T00:00:00Z   a/one,a/two\n2030-01-02T02:00:00Z   a/three\n",
		"WINDOWS:{.windows[0,-1]},NO:.nothing.x": "WINDOWS           NO\na/one,a/two       <none>\na/three,a/three   <none>\n",
		`W:.windows[?(@=="a/two")] , E:end`:      "W        E\na/two    2030-01-01T05:00:00Z\n<none>   2030-01-02T05:00:00Z\n",
	} {
		out, errOut, code := offline(t, "windows", "-f", file, "--from", "2029-12-31", "-o", "custom-columns="+columns)
		if out != want || errOut != "" || code != 0 {
			t.Errorf("%s: got exit code %d, %s and\n%s, want\n%s", columns, code, errOut, out, want)
		}
	}
}
