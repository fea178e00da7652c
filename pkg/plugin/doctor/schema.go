package doctor

import (
	"reflect"
	"slices"
	"strings"
)

// Lacks returns the fields of a Go type of the API that a schema of OpenAPI does not have, such
// as spec.mode. Fields below one that is missing are not listed.
func Lacks(of reflect.Type, schema map[string]any) (missing []string) {
	visit(of, schema, "", &missing)
	slices.Sort(missing)
	return slices.Compact(missing)
}

func visit(of reflect.Type, schema map[string]any, path string, missing *[]string) {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		if of.Kind() == reflect.Slice {
			schema, _ = schema["items"].(map[string]any)
		}
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct || !strings.HasSuffix(of.PkgPath(), "/pkg/api/v1alpha1") {
		return
	}
	properties, _ := schema["properties"].(map[string]any)
	for i := range of.NumField() {
		field := of.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "" && field.Anonymous && strings.HasSuffix(field.Type.PkgPath(), "/pkg/api/v1alpha1"):
			visit(field.Type, schema, path, missing)
		case name == "" || name == "metadata":
		default:
			below, known := properties[name].(map[string]any)
			if !known {
				*missing = append(*missing, path+name)
				continue
			}
			visit(field.Type, below, path+name+".", missing)
		}
	}
}
