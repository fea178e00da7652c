package cli_test

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/clusters"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/doctor"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/report"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

var quoted = regexp.MustCompile(`"(\w+)"`)

// TestCommandsPageShowsEveryField checks that docs/commands.md shows every field of the
// JSON on which scripts may rely.
func TestCommandsPageShowsEveryField(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(apitest.Root(t), "docs", "commands.md"))
	if err != nil {
		t.Fatal(err)
	}
	shapes := map[string]any{
		"UpgradeStatus": view.Status{}, "UpgradePlan": plan.Plan{}, "UpgradeHistory": view.History{},
		"UpgradeReport": report.Report{}, "ReleaseList": view.ReleaseList{}, "WindowList": view.WindowList{},
		"UpgradeDiagnosis": doctor.Diagnosis{}, "FleetStatus": clusters.Status{}, "FleetPlan": clusters.Plans{}, "FleetFreeze": clusters.Freezes{}, "FleetReport": clusters.Report{},
	}
	for kind, value := range shapes {
		_, shape, found := strings.Cut(string(text), `"kind":"`+kind+`"`)
		if !found {
			t.Errorf("the page has no %s", kind)
			continue
		}
		shape, _, _ = strings.Cut(shape, `{"apiVersion"`)
		shape, _, _ = strings.Cut(shape, "```")
		var shown []string
		for _, m := range quoted.FindAllStringSubmatch(shape, -1) {
			shown = append(shown, m[1])
		}
		for _, field := range fieldsOf(reflect.TypeOf(value)) {
			if field != "apiVersion" && field != "kind" && !slices.Contains(shown, field) {
				t.Errorf("%s: the page does not show %q", kind, field)
			}
		}
	}
}

// fieldsOf returns the JSON names of a type's fields, and of the fields below them, except
// for types of the API, which docs/api.md describes.
func fieldsOf(of reflect.Type) (names []string) {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	ours := slices.ContainsFunc([]string{"/pkg/plugin/view", "/pkg/cluster/plan", "/pkg/plugin/report", "/pkg/plugin/doctor", "/pkg/plugin/clusters"}, func(pkg string) bool { return strings.HasSuffix(of.PkgPath(), pkg) })
	if of.Kind() != reflect.Struct || !ours {
		return nil
	}
	for i := range of.NumField() {
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		if of.Field(i).Anonymous && name == "" {
			names = append(names, fieldsOf(of.Field(i).Type)...)
		}
		if field := of.Field(i).Type; field == reflect.TypeFor[*view.Status]() || field == reflect.TypeFor[[]view.Ended]() && name != "items" { // they have shapes of their own
			names = append(names, name)
			continue
		}
		if name != "-" && name != "" {
			names = append(append(names, name), fieldsOf(of.Field(i).Type)...)
		}
	}
	return names
}
