package main

import (
	"encoding/json"
	"strings"

	"sigs.k8s.io/yaml"
)

// definition is what is read of a CustomResourceDefinition.
type definition struct {
	Spec struct {
		Group string
		Names struct{ Kind string }
		// Versions with their schemas.
		Versions []struct {
			Name   string
			Schema struct{ OpenAPIV3Schema map[string]any }
		}
	}
}

// schemasOf returns the JSON schema of each version of a CustomResourceDefinition, by the name of its file.
func schemasOf(text []byte) (map[string][]byte, error) {
	var d definition
	if err := yaml.Unmarshal(text, &d); err != nil {
		return nil, err
	}
	schemas := map[string][]byte{}
	for _, version := range d.Spec.Versions {
		schema := version.Schema.OpenAPIV3Schema
		onlyKnown(schema)
		schema["$schema"] = "http://json-schema.org/draft-07/schema#"
		fields, _ := schema["properties"].(map[string]any)
		for field, value := range map[string]string{"apiVersion": d.Spec.Group + "/" + version.Name, "kind": d.Spec.Names.Kind} {
			if of, ok := fields[field].(map[string]any); ok {
				of["enum"] = []string{value}
			}
		}
		schema["required"] = append([]any{"apiVersion", "kind", "metadata"}, listed(schema["required"])...)
		out, err := json.MarshalIndent(schema, "", " ")
		if err != nil {
			return nil, err
		}
		schemas[strings.ToLower(d.Spec.Names.Kind)+"_"+version.Name+".json"] = append(out, '\n')
	}
	return schemas, nil
}

func listed(value any) []any {
	list, _ := value.([]any)
	return list
}

// onlyKnown lets a schema refuse fields that it does not know, as the API server does with kubectl apply, and removes
// Kubernetes' own extensions, which JSON schema does not have.
func onlyKnown(schema map[string]any) {
	for key := range schema {
		if strings.HasPrefix(key, "x-kubernetes-") {
			delete(schema, key)
		}
	}
	fields, _ := schema["properties"].(map[string]any)
	if len(fields) > 0 {
		schema["additionalProperties"] = false
	}
	for _, field := range fields {
		if of, ok := field.(map[string]any); ok {
			onlyKnown(of)
		}
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if of, ok := schema[key].(map[string]any); ok {
			onlyKnown(of)
		}
	}
}
