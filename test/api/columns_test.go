package api_test

import (
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// TestColumns checks the columns that kubectl prints.
func TestColumns(t *testing.T) {
	rows := []struct{ kind, object, status, narrow, line, wide string }{
		{"MaintenanceSchedule", "spec: {timeZone: Europe/Berlin}",
			`state: Excluded, untilTime: "2026-11-22T01:00:00Z", ` + conditions("Valid=True/Valid", "Open=False/Excluded"),
			"NAME STATE UNTIL AGE REASON", "columns Excluded 2026-11-22T01:00:00Z AGE m", "ZONE VALID MESSAGE"},
		{"UpgradePolicy", "spec: {automatic: [{type: Reboot}, {type: Patch}]}",
			"version: v1.34.4, " + conditions("SourceReady=True/Read"),
			"NAME MODE AUTO-PATCH AUTO-REBOOT VERSION SOURCE AGE", "cluster Observe Patch Reboot v1.34.4 Read AGE", "AUTO-CERTIFICATES URL MESSAGE"},
		{"ClusterUpgrade", "spec: {version: v1.34.4}",
			`type: Patch, fromVersion: v1.34.3, progress: 1/3, triggerTime: "2026-01-01T00:00:00Z", ` + conditions("Succeeded=Unknown/WindowClosed"),
			"NAME TYPE FROM TO DONE OUTCOME REASON AGE", "columns Patch v1.34.3 v1.34.4 1/3 WindowClosed AGE", "TRIGGERED ENDED MESSAGE"},
		{"NodeUpgrade", "spec: {" + upgradeRef + ", version: v1.34.4}",
			`versions: {kubelet: v1.34.3, staged: v1.34.4}, step: Waiting, stepStartTime: "2026-01-01T00:00:00Z", ` + conditions("UpToDate=False/AwaitingRelease", "Admitted=False/WindowClosed"),
			"NAME KUBELET TARGET STEP REASON ADMISSION AGE", "columns v1.34.3 v1.34.4 Waiting AwaitingRelease WindowClosed AGE", "SINCE STAGED RELEASE SLOT MESSAGE ADMISSION MESSAGE"},
		{"UpgradeRecord", record(", type: Minor, fromVersion: v1.34.4, version: v1.35.4"), "",
			"NAME UPGRADE TYPE FROM TO OUTCOME AGE", "columns u Minor v1.34.4 v1.35.4 Failed AGE", "ENDED PIECE MESSAGE"},
		{"NodeInventory", `{gatheredTime: "2026-01-01T00:00:00Z", installed: [v1.34.3, v1.34.4]}`, "",
			"NAME INSTALLED GATHERED AGE", `columns ["v1.34.3","v1.34.4"] AGE AGE`, "PROBLEMS"},
		{"CoordinatorState", `{version: v1.34.4, upgrade: {name: u, uid: x}}`, "",
			"NAME VERSION UPGRADE AGE", "cluster v1.34.4 u AGE", ""},
	}
	client := server(t)
	config := apitest.Start(t)
	age := regexp.MustCompile(`\b\d+[smhdy](\d+[smhd])?\b`)
	for _, row := range rows {
		u := object(t, row.kind, row.object)
		u.SetName("columns")
		if row.kind == "UpgradePolicy" || row.kind == "CoordinatorState" {
			u.SetName("cluster")
		}
		create(t, client, u)
		if row.status != "" {
			if _, err := client.Resource(resources[row.kind]).ApplyStatus(t.Context(), u.GetName(), withStatus(t, u, "{"+row.status+"}"), metav1.ApplyOptions{FieldManager: "test"}); err != nil {
				t.Fatal(err)
			}
		}
		out, err := apitest.Kubectl(t, config, "get", resources[row.kind].Resource, u.GetName()).CombinedOutput()
		header, line, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
		if err != nil || squeeze(header) != row.narrow || age.ReplaceAllString(squeeze(line), "AGE") != row.line {
			t.Errorf("kubectl get %s: %v\n%s\nwant columns\n%s\n%s", row.kind, err, out, row.narrow, row.line)
		}
		out, err = apitest.Kubectl(t, config, "get", resources[row.kind].Resource, u.GetName(), "-o", "wide").CombinedOutput()
		header, _, _ = strings.Cut(string(out), "\n")
		if want := strings.TrimSpace(row.narrow + " " + row.wide); err != nil || squeeze(header) != want {
			t.Errorf("kubectl get %s -o wide: %v\n%s\nwant columns\n%s", row.kind, err, out, want)
		}
		remove(t, client, u)
	}
}
