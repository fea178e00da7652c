package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// addPolicySchema returns values.schema.json with the schema of an UpgradePolicy's spec, from
// the CRD. Helm does not ask the API server to refuse unknown fields, so without it a
// misspelled field would be ignored.
func addPolicySchema(text []byte, manifests string) ([]byte, error) {
	crd, err := os.ReadFile(filepath.Join(manifests, "crd", "kubectl-upgrade.dev_upgradepolicies.yaml"))
	if err != nil {
		return nil, err
	}
	var definition struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema struct {
						Properties map[string]map[string]any
					}
				}
			}
		}
	}
	if err := yaml.Unmarshal(crd, &definition); err != nil {
		return nil, err
	}
	if len(definition.Spec.Versions) != 1 {
		return nil, errors.New("the CRD of UpgradePolicies has several versions: choose the one that the chart creates")
	}
	var schema map[string]any
	if err := json.Unmarshal(text, &schema); err != nil {
		return nil, err
	}
	spec := definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	schema["definitions"] = map[string]any{"UpgradePolicySpec": strict(spec)}
	return json.Marshal(schema)
}

// strict returns a schema of a CRD as a JSON schema that refuses unknown fields. It has the
// structure and no documentation, and requires no field that the API server completes.
func strict(schema map[string]any) map[string]any {
	result := map[string]any{}
	for key, value := range schema {
		nested, _ := value.(map[string]any)
		switch {
		case key == "properties":
			result[key] = strictProperties(nested)
			result["additionalProperties"] = false
		case key == "required":
			properties, _ := schema["properties"].(map[string]any)
			result[key] = slices.DeleteFunc(slices.Clone(value.([]any)), func(name any) bool {
				property, _ := properties[name.(string)].(map[string]any)
				_, completed := property["default"]
				return completed
			})
		case key == "description", key == "default", key == "format", strings.HasPrefix(key, "x-"):
		case nested != nil: // items, additionalProperties
			result[key] = strict(nested)
		default:
			result[key] = value
		}
	}
	return result
}

func strictProperties(properties map[string]any) map[string]any {
	result := map[string]any{}
	for name, schema := range properties {
		result[name] = strict(schema.(map[string]any))
	}
	return result
}
