package v1alpha1_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/internal/apitest"
)

// Giant Swarm's RFC 0015 has this example; only apiVersion is ours.
func TestKubectlAppliesTheExampleOfRFC0015(t *testing.T) {
	config := apitest.Start(t)
	apitest.InstallCRDs(t, config)
	out, err := apitest.Kubectl(t, config, "apply", "-f", "testdata/rfc0015.yaml").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "working-hours-except-month-start created") {
		t.Fatalf("kubectl apply: %v\n%s", err, out)
	}
	for _, again := range []string{"unchanged", "deleted"} {
		verb := map[string]string{"unchanged": "apply", "deleted": "delete"}[again]
		out, err := apitest.Kubectl(t, config, verb, "-f", "testdata/rfc0015.yaml").CombinedOutput()
		if err != nil || !strings.Contains(string(out), again) {
			t.Errorf("kubectl %s: %v\n%s", verb, err, out)
		}
	}
}

func TestRightValuesAreAccepted(t *testing.T) {
	client := server(t)
	rows := []struct{ kind, text string }{
		{"MaintenanceSchedule", "spec: {}"},
		{"MaintenanceSchedule", "spec: {automatic: [Patch, Reboot]}"},
		{"MaintenanceSchedule", "spec: {automatic: [], nodeSelector: {matchExpressions: [{key: a, operator: In, values: [b]}, {key: c, operator: DoesNotExist}]}}"},
		{"MaintenanceSchedule", "spec: {timeZone: America/Argentina/Buenos_Aires}"},
		{"MaintenanceSchedule", "spec: {timeZone: Etc/GMT+5}"},
		{"MaintenanceSchedule", window(`startTime: "2026-01-03T01:00:00+02:00"`)},
		{"MaintenanceSchedule", window(`recurrence: "FREQ=DAILY"`)},
		{"MaintenanceSchedule", window(`recurrence: "RRULE:FREQ=MONTHLY;BYDAY=-1SU"`)},
		{"MaintenanceSchedule", window(`recurrence: "freq=weekly;byday=mo,tu"`)},
		{"MaintenanceSchedule", window(`recurrence: "INTERVAL=2;FREQ=WEEKLY;BYDAY=SA,SU;WKST=MO;COUNT=10"`)},
		{"MaintenanceSchedule", window(`recurrence: "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1;UNTIL=20271231T235959Z"`)},
		{"MaintenanceSchedule", window(`recurrence: "FREQ=YEARLY;BYMONTH=1,12;BYMONTHDAY=1,-1"`)},
		{"ClusterUpgrade", "spec: {version: v1.34.4}"},
		{"ClusterUpgrade", "spec: {type: Patch, version: v1.34.4, strategy: {method: Restart}}"},
		{"ClusterUpgrade", "spec: {type: Reboot}"},
		{"ClusterUpgrade", "spec: {version: v1.34.4, strategy: {maxUnavailable: 100%, settle: 0s, drain: {timeout: 1h30m, gracePeriodSeconds: 0}}}"},
		{"ClusterUpgrade", "spec: {version: v1.34.4, strategy: {settle: 1m0.5s}}"},
		{"NodeUpgrade", "{}"},
		{"NodeUpgrade", "spec: {upgrade: u, type: Reboot, release: Node}"},
	}
	for _, row := range rows {
		if _, err := dryRun(client, object(t, row.kind, row.text)); err != nil {
			t.Errorf("%s {%s} is refused: %v", row.kind, row.text, err)
		}
	}
}

func TestDefaults(t *testing.T) {
	client := server(t)
	const drain = "drain: {timeout: 15m, onTimeout: Abort, gracePeriodSeconds: -1}"
	rows := []struct{ kind, given, stored string }{
		{"MaintenanceSchedule", "spec: {}", "{timeZone: UTC}"},
		{"ClusterUpgrade", "spec: {version: v1.34.4}",
			"{version: v1.34.4, schedule: Respect, strategy: {method: Reboot, maxUnavailable: 1, settle: 2m, etcdSnapshot: Required, " + drain + "}}"},
		{"ClusterUpgrade", "spec: {version: v1.34.4, strategy: {settle: 5s, drain: {force: true}}}",
			"{version: v1.34.4, schedule: Respect, strategy: {method: Reboot, maxUnavailable: 1, settle: 5s, etcdSnapshot: Required, " + strings.TrimSuffix(drain, "}") + ", force: true}}}"},
		{"NodeUpgrade", "{}", "{release: None, kubeadm: Node, method: Reboot, " + drain + "}"},
	}
	for _, row := range rows {
		stored, err := dryRun(client, object(t, row.kind, row.given))
		if err != nil {
			t.Errorf("creating a %s: %v", row.kind, err)
			continue
		}
		var want any
		if err := yaml.Unmarshal([]byte(row.stored), &want); err != nil {
			t.Fatal(err)
		}
		got := throughYAML(t, stored.Object["spec"])
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s {%s}: the stored spec is not the one expected (-want +got):\n%s", row.kind, row.given, diff)
		}
	}
}

// throughYAML gives numbers the type that YAML's reader gives them.
func throughYAML(t *testing.T, value any) any {
	t.Helper()
	text, err := yaml.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var plain any
	if err := yaml.Unmarshal(text, &plain); err != nil {
		t.Fatal(err)
	}
	return plain
}

func TestSelectorsAreReadable(t *testing.T) {
	good := v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"pool": "gpu"}}
	if s, err := good.AsSelector(); err != nil || s.String() != "pool=gpu" {
		t.Errorf("got %v, %v; want pool=gpu", s, err)
	}
	bad := v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"no such key": "x"}}
	if s, err := bad.AsSelector(); err == nil {
		t.Errorf("got %v, want an error for a key with spaces", s)
	}
}
