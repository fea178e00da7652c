package former_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/former"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

var store = flag.String("store", "", "store an object of each kind, with every field, as those of the version with this name")

// schema is what of a definition's schema a value is made from.
type schema struct {
	Type                 string            `json:"type"`
	Format               string            `json:"format"`
	Enum                 []any             `json:"enum"`
	Properties           map[string]schema `json:"properties"`
	Items                *schema           `json:"items"`
	AdditionalProperties *schema           `json:"additionalProperties"`
}

// value returns a value with every field.
func (s schema) value() any {
	switch {
	case len(s.Enum) > 0:
		return s.Enum[len(s.Enum)-1]
	case s.Format == "date-time":
		return "2026-11-29T01:02:03.000000Z"
	case s.Type == "object" && s.AdditionalProperties != nil:
		return map[string]any{"key": s.AdditionalProperties.value()}
	case s.Type == "object":
		object := map[string]any{}
		for name, below := range s.Properties {
			object[name] = below.value()
		}
		return object
	case s.Type == "array":
		return []any{s.Items.value()}
	case s.Type == "integer":
		return int64(7)
	case s.Type == "boolean":
		return true
	}
	return "text"
}

// objects returns an object of each kind of a folder with definitions.
func objects(t *testing.T, files fs.FS) map[string]map[string]any {
	all := map[string]map[string]any{}
	names, err := fs.Glob(files, v1alpha1.Group+"_*.yaml")
	if err != nil || len(names) == 0 {
		t.Fatal("no definitions", err)
	}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			t.Fatal(err)
		}
		var definition struct {
			Spec struct {
				Names    struct{ Kind string }
				Versions []struct {
					Schema struct{ OpenAPIV3Schema schema }
				}
			}
		}
		if err := yaml.Unmarshal(text, &definition); err != nil {
			t.Fatal(err)
		}
		kind := definition.Spec.Names.Kind
		object := definition.Spec.Versions[0].Schema.OpenAPIV3Schema.value().(map[string]any)
		object["apiVersion"], object["kind"], object["metadata"] = v1alpha1.GroupVersion.String(), kind, map[string]any{"name": "golden"}
		all[kind] = object
	}
	return all
}

var types = map[string]any{
	"MaintenanceSchedule": v1alpha1.MaintenanceSchedule{}, "UpgradePolicy": v1alpha1.UpgradePolicy{}, "ClusterUpgrade": v1alpha1.ClusterUpgrade{},
	"NodeUpgrade": v1alpha1.NodeUpgrade{}, "UpgradeRecord": v1alpha1.UpgradeRecord{}, "NodeInventory": v1alpha1.NodeInventory{},
	"CoordinatorState": v1alpha1.CoordinatorState{},
}

// readWhole checks that today's types read every field of an object, and write the same.
func readWhole(t *testing.T, kind string, object map[string]any) {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	into := reflect.New(reflect.TypeOf(types[kind])).Interface()
	strict, err := kjson.UnmarshalStrict(text, into)
	if err != nil || len(strict) > 0 {
		t.Fatalf("%v %v", err, strict)
	}
	again, err := json.Marshal(into)
	if err != nil {
		t.Fatal(err)
	}
	var was, now any
	if err := json.Unmarshal(text, &was); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(again, &now); err != nil {
		t.Fatal(err)
	}
	if kind == "UpgradeRecord" {
		was = withSpec(was.(map[string]any))
	}
	if difference := cmp.Diff(was, now, cmp.Comparer(sameTime)); difference != "" {
		t.Errorf("something is lost (-stored +read):\n%s", difference)
	}
}

// withSpec returns a record with a spec, which the first version stored with its fields at the top.
func withSpec(record map[string]any) map[string]any {
	if record["spec"] != nil {
		return record
	}
	spec, whole := map[string]any{}, map[string]any{"spec": map[string]any{}}
	for field, value := range record {
		switch field {
		case "apiVersion", "kind", "metadata":
			whole[field] = value
		case "requestReason":
			spec["comment"] = value
		case "completionTime":
			spec["endTime"] = value
		case "nodes":
			for _, one := range value.([]any) {
				node := one.(map[string]any)
				node["endTime"] = node["completionTime"]
				delete(node, "completionTime")
			}
			spec[field] = value
		case "ignoreChecks", "ignoreGates":
			for _, one := range value.([]any) {
				ignored := one.(map[string]any)
				ignored["comment"] = ignored["reason"]
				delete(ignored, "reason")
			}
			spec[field] = value
		default:
			spec[field] = value
		}
	}
	whole["spec"] = spec
	return whole
}

// firstKinds is how many kinds the first version had.
const firstKinds = 6

// sameTime compares texts; those of times may have microseconds.
func sameTime(a, b string) bool {
	return strings.Replace(a, ".000000Z", "Z", 1) == strings.Replace(b, ".000000Z", "Z", 1)
}

// TestGoldenObjects reads objects with every field, as each version has stored them. `go test -C
// pkg/api ./former -run TestGoldenObjects -store VERSION` adds those of today.
func TestGoldenObjects(t *testing.T) {
	today := objects(t, os.DirFS("../../../manifests/crd"))
	if *store != "" {
		for kind, object := range today {
			text, err := yaml.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			folder := filepath.Join("testdata", *store)
			if err := os.MkdirAll(folder, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(folder, strings.ToLower(kind)+".yaml"), text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for kind, object := range today {
		t.Run("today/"+kind, func(t *testing.T) {
			if changes := former.Convert(object); len(changes) > 0 {
				t.Errorf("an object of today is changed: %v", changes)
			}
			readWhole(t, kind, object)
		})
	}
	files, err := filepath.Glob("testdata/*/*.yaml")
	folders, err2 := filepath.Glob("testdata/*")
	if err != nil || err2 != nil || len(files) == 0 || len(files) < firstKinds*len(folders) {
		t.Fatalf("%d golden objects in %v: %v %v", len(files), folders, err, err2)
	}
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var object map[string]any
			if err := yaml.Unmarshal(bytes.TrimSpace(text), &object); err != nil {
				t.Fatal(err)
			}
			decode(t, object)
			for _, c := range former.Convert(object) {
				if c.ByHand != "" {
					delete(at(object, c.Object).(map[string]any), c.Was)
				}
			}
			readWhole(t, object["kind"].(string), object)
		})
	}
}

// decode checks that clients can decode an object as it is stored: a list with one that they cannot decode is lost to
// them as a whole.
func decode(t *testing.T, object map[string]any) {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, reflect.New(reflect.TypeOf(types[object["kind"].(string)])).Interface()); err != nil {
		t.Errorf("before it is converted: %v", err)
	}
}

// at returns the value at a path.
func at(value any, path []any) any {
	for _, step := range path {
		if name, isName := step.(string); isName {
			value = value.(map[string]any)[name]
		} else {
			value = value.([]any)[step.(int)]
		}
	}
	return value
}

// TestEachFormerFieldIsRead checks that a golden object has each field of the table, so that none is
// there by mistake.
func TestEachFormerFieldIsRead(t *testing.T) {
	files, _ := filepath.Glob("testdata/*/*.yaml")
	read := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var object map[string]any
		if err := yaml.Unmarshal(text, &object); err != nil {
			t.Fatal(err)
		}
		for _, c := range former.Convert(object) {
			read[object["kind"].(string)+" "+former.PatternOf(c.Object)+" "+c.Was] = true
		}
	}
	for _, f := range former.Fields() {
		if !read[f] {
			t.Errorf("no golden object has %s", f)
		}
	}
}
