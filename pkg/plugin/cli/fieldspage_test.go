package cli_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/doctor"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/report"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// shapes are what commands print with -o json, on which scripts may rely.
var shapes = []struct {
	kind, command string
	value         any
}{
	{"UpgradeStatus", "status", view.Status{}},
	{"UpgradePlan", "plan", plan.Plan{}},
	{"UpgradeHistory", "history", view.History{}},
	{"ReleaseList", "releases", view.ReleaseList{}},
	{"CertificateList", "certificates", view.CertificateList{}},
	{"WindowList", "windows", view.WindowList{}},
	{"UpgradeDiagnosis", "doctor", doctor.Diagnosis{}},
	{"UpgradeReport", "report", report.Report{}},
	{"FleetStatus", "fleet status", fleet.Status{}},
	{"FleetPlan", "fleet plan", fleet.Plans{}},
	{"FleetFreeze", "fleet freeze, fleet unfreeze", fleet.Freezes{}},
	{"FleetReport", "fleet report", fleet.Report{}},
}

// meanings are what a field's name and type do not say, by kind and field: values or, in words, what it is.
var meanings = map[string]string{
	"UpgradeStatus .problems":                       "coordinator or agents do not run, so that the rest may be old",
	"UpgradeStatus .policy.mode":                    "Observe|Manage",
	"UpgradeStatus .policy.gates[].state":           "Open|Closed|Unknown",
	"UpgradeStatus .schedules[].state":              "Open|Closed|Excluded|Invalid|Unknown",
	"UpgradeStatus .nodes[].state":                  "Done|Active|Waiting|Failed|Unsupported|Unknown",
	"UpgradeStatus .nodes[].method":                 "Reboot|SoftReboot|Restart",
	"UpgradeStatus .nodes[].installed":              "only of status NODE",
	"UpgradePlan .create":                           "the ClusterUpgrade that the policy's automatic asks for",
	"UpgradePlan .gates[].state":                    "Open|Closed|Unknown",
	"UpgradePlan .findings[].level":                 "Block|Warn",
	"UpgradePlan .nodes[].decision":                 "Go|Wait|Done|Blocked",
	"UpgradeHistory .items[].outcome":               "Succeeded|Failed|RolledBack|Superseded|Canceled",
	"ReleaseList .items[].support":                  "Supported|Ended|NotKnown",
	"CertificateList .items[].state":                "Valid|Expiring|Expired",
	"CertificateList .items[].renewedBy":            "Kubeadm|Kubelet|Elsewhere|None",
	"CertificateList .items[].inUse":                "Current|Former",
	"UpgradeDiagnosis .verdict":                     "ok|warn|fail",
	"UpgradeDiagnosis .checks[].level":              "ok|unknown|warn|fail",
	"UpgradeDiagnosis .cluster.agents":              "the number of agents by version",
	"UpgradeReport .upgrade.type":                   "Patch|Minor|Reboot|Rollback",
	"UpgradeReport .upgrade.outcome":                "Succeeded|Failed|RolledBack|Superseded|Canceled; absent until the upgrade has ended",
	"UpgradeReport .usual":                          "what was expected when the upgrade began",
	"UpgradeReport .nodes[].state":                  "Done|UpToDate|Active|Waiting|Failed|NotDone",
	"UpgradeReport .nodes[].parts[].part":           "Kubeadm|Reboot|SoftReboot|Restart",
	"UpgradeReport .nodes[].waits[].derived":        "the reason follows from windows and other nodes, and is not from an object",
	"UpgradeReport .nodes[].calendar":               "the index of the node's windows in calendars",
	"UpgradeReport .findings[].level":               "Block|Warn",
	"UpgradeReport .calendars[].openings[].windows": "as schedule/window",
	"UpgradeReport .calendars[].exclusions[].name":  "schedule/exclusion",
	"FleetStatus .items[].state":                    "Idle|Active|Waiting|Failed|Silent",
	"FleetStatus .items[].follows[].state":          "Open|Closed|Unknown",
	"FleetStatus .items[].status":                   "of clusters that the command names: an UpgradeStatus",
	"FleetPlan .items[].next":                       "Create|Continue|Wait|Blocked|Nothing|Unknown",
	"FleetFreeze .items[].state":                    "Frozen|AlreadyFrozen|NotConfirmed|NotFrozen|Unfrozen|NoFreeze|StillFrozen|NotKnown",
	"FleetReport .items[].upgrades":                 "items of an UpgradeHistory",
	"FleetReport .items[].runs[].attempt":           "an upgrade that did not bring the version to every node",
}

// TestFieldsPage checks that docs/json.txt, to which docs/commands.md links, has every field of the
// JSON on which scripts may rely.
func TestFieldsPage(t *testing.T) {
	page, unused := "Fields of `kubectl upgrade COMMAND -o json`. Written by go test ./pkg/plugin/cli -run TestFieldsPage -update\n", maps.Clone(meanings)
	for _, shape := range shapes {
		page += fmt.Sprintf("\n%s: kubectl upgrade %s\n", shape.kind, shape.command)
		for _, field := range fieldsOf(reflect.TypeOf(shape.value), "") {
			key := shape.kind + " " + field.name
			page += strings.TrimRight(fmt.Sprintf("  %-38s %-8s %s", field.name, field.kind, meanings[key]), " ") + "\n"
			delete(unused, key)
		}
	}
	for key := range unused {
		t.Errorf("there is no field %s", key)
	}
	name := filepath.Join(apitest.Root(t), "docs", "json.txt")
	if *update {
		if err := os.WriteFile(name, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(text), page); diff != "" {
		t.Errorf("docs/json.txt (-page +types), `go test ./pkg/plugin/cli -run TestFieldsPage -update` writes it:\n%s", diff)
	}
}

// elsewhere are types that another kind of the page, or docs/api.md, describes.
var elsewhere = []reflect.Type{reflect.TypeFor[view.Status](), reflect.TypeFor[v1alpha1.ClusterUpgrade]()}

// field is one of the JSON: its path, and what a program reads there.
type field struct{ name, kind string }

// fieldsOf returns the fields of a type below a path, and those below them.
func fieldsOf(of reflect.Type, path string) (fields []field) {
	for i := range of.NumField() {
		member := of.Field(i)
		name, _, _ := strings.Cut(member.Tag.Get("json"), ",")
		if member.Anonymous && name == "" {
			fields = append(fields, fieldsOf(member.Type, path)...)
		}
		if name == "" || name == "-" || path == "" && (name == "apiVersion" || name == "kind") {
			continue
		}
		below, at := member.Type, path+"."+name
		list := false
		for below.Kind() == reflect.Pointer || below.Kind() == reflect.Slice {
			list = list || below.Kind() == reflect.Slice
			below = below.Elem()
		}
		kind := kindOf(below)
		if list {
			kind += "[]"
		}
		fields = append(fields, field{at, kind})
		if list {
			at += "[]"
		}
		if kindOf(below) == "object" && !slices.Contains(elsewhere, below) && (below != reflect.TypeFor[view.Ended]() || at == ".items[]") {
			fields = append(fields, fieldsOf(below, at)...)
		}
	}
	return fields
}

// kindOf returns what a value of the type is in JSON.
func kindOf(of reflect.Type) string {
	switch {
	case of == reflect.TypeFor[metav1.Time](), of == reflect.TypeFor[time.Time]():
		return "time"
	case of.Kind() == reflect.Struct:
		return "object"
	case of.Kind() == reflect.Map:
		return "map"
	case of.Kind() == reflect.Bool:
		return "boolean"
	case of.Kind() == reflect.String:
		return "string"
	default:
		return "number"
	}
}
