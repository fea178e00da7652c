package v1alpha1_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/internal/apitest"
)

func TestKubectlExplainsEachKind(t *testing.T) {
	config := apitest.Start(t)
	apitest.InstallCRDs(t, config)
	for path, want := range map[string][]string{
		"maintenanceschedule.spec":                                {"IANA name of the zone", "maintenanceExclusions", "nothing may begin"},
		"maintenanceschedule.spec.maintenanceWindows":             {"-required-", "RFC 5545 RRULE such as FREQ=WEEKLY"},
		"clusterupgrade.spec.strategy.drain":                      {"enum: Abort, Force", "killed at once"},
		"clusterupgrade.spec.strategy.maxUnavailable":             {"percentage of all nodes"},
		"nodeupgrade.status.step":                                 {"ENUM:", "Idle", "Unsupported"},
		"clusterupgrade.spec.strategy.groups.nodeSelector":        {"matchExpressions", "a node must meet"},
		"nodeupgrade.status.steps":                                {"when it began", "startedAt"},
		"maintenanceschedule.spec.maintenanceExclusions.upgrades": {"kinds of upgrade that are excluded"},
	} {
		out, err := apitest.Kubectl(t, config, "explain", path).CombinedOutput()
		if err != nil {
			t.Errorf("kubectl explain %s: %v\n%s", path, err, out)
		}
		for _, words := range want {
			if !strings.Contains(squeeze(string(out)), words) {
				t.Errorf("kubectl explain %s does not say %q:\n%s", path, words, out)
			}
		}
	}
}

// squeeze undoes the line breaks that kubectl explain makes.
func squeeze(text string) string { return strings.Join(strings.Fields(text), " ") }

func TestNoFieldIsWithoutDescription(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(apitest.Root(t), "manifests", "crd", "*.dev_*.yaml"))
	if err != nil || len(files) != 3 {
		t.Fatalf("looking for the CRDs: %v, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var crd map[string]any
		if err := yaml.Unmarshal(text, &crd); err != nil {
			t.Fatal(err)
		}
		versions, _, _ := unstructured.NestedSlice(crd, "spec", "versions")
		schema, _, _ := unstructured.NestedMap(versions[0].(map[string]any), "schema", "openAPIV3Schema")
		describe(t, filepath.Base(file), schema)
	}
}

// describe walks a schema's properties.
func describe(t *testing.T, path string, schema map[string]any) {
	properties, _ := schema["properties"].(map[string]any)
	if items, ok := schema["items"].(map[string]any); ok {
		properties, _ = items["properties"].(map[string]any)
	}
	for name, property := range properties {
		field := property.(map[string]any)
		description, _ := field["description"].(string)
		here := path + "." + name
		if description == "" && here != path+".metadata" {
			t.Errorf("%s has no description", here)
		}
		if strings.Contains(description, "+kubebuilder") || strings.Contains(description, "\n\n\n") {
			t.Errorf("%s: the description shows markers: %s", here, description)
		}
		describe(t, here, field)
	}
}

// Columns are looked at as a person sees them.
func TestColumns(t *testing.T) {
	rows := []struct{ kind, object, status, header, line string }{
		{"MaintenanceSchedule", "spec: {timeZone: Europe/Berlin, automatic: [Patch]}",
			`{"state":"Closed","until":"2026-11-22T01:00:00Z","conditions":[{"type":"Valid","status":"True","reason":"Valid","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}`,
			"NAME ZONE AUTOMATIC VALID STATE UNTIL AGE",
			`columns Europe/Berlin ["Patch"] True Closed 2026-11-22T01:00:00Z AGE`},
		{"ClusterUpgrade", "spec: {version: v1.34.4}",
			`{"type":"Patch","fromVersion":"v1.34.3","progress":"1/3","triggeredAt":"2026-01-01T00:00:00Z","conditions":[{"type":"Succeeded","status":"Unknown","reason":"WindowClosed","message":"m","lastTransitionTime":"2026-01-01T00:00:00Z"}]}`,
			"NAME TYPE FROM TO DONE OUTCOME REASON TRIGGERED FINISHED",
			"columns Patch v1.34.3 v1.34.4 1/3 WindowClosed AGE"},
		{"NodeUpgrade", "spec: {upgrade: u, version: v1.34.4}",
			`{"kubeletVersion":"v1.34.3","stagedVersion":"v1.34.4","step":"Waiting","since":"2026-01-01T00:00:00Z","reason":"WindowClosed","until":"2026-11-22T01:00:00Z"}`,
			"NAME KUBELET STAGED TARGET RELEASE STEP SINCE REASON UNTIL",
			"columns v1.34.3 v1.34.4 v1.34.4 None Waiting AGE WindowClosed 2026-11-22T01:00:00Z"},
	}
	client := server(t)
	config := apitest.Start(t)
	age := regexp.MustCompile(`\b\d+[smhdy](\d+[smhd])?\b`)
	ctx := context.Background()
	for _, row := range rows {
		resource := client.Resource(resources[row.kind])
		u := object(t, row.kind, row.object)
		u.SetName("columns")
		if _, err := resource.Create(ctx, u, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := resource.Patch(ctx, "columns", types.MergePatchType, []byte(`{"status":`+row.status+`}`), metav1.PatchOptions{}, "status"); err != nil {
			t.Fatal(err)
		}
		out, err := apitest.Kubectl(t, config, "get", resources[row.kind].Resource, "columns").CombinedOutput()
		header, line, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
		if err != nil || squeeze(header) != row.header || age.ReplaceAllString(squeeze(line), "AGE") != row.line {
			t.Errorf("kubectl get %s: %v\n%s\nwant columns\n%s\n%s", row.kind, err, out, row.header, row.line)
		}
		if err := resource.Delete(ctx, "columns", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}
