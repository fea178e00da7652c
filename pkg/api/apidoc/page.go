package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"sigs.k8s.io/yaml"
)

//go:embed api.md.tmpl
var page string

// schema is what the page needs of an OpenAPI schema.
type schema struct {
	Description string            `json:"description"`
	Type        string            `json:"type"`
	Format      string            `json:"format"`
	Enum        []string          `json:"enum"`
	Default     any               `json:"default"`
	Required    []string          `json:"required"`
	Properties  map[string]schema `json:"properties"`
	Items       *schema           `json:"items"`
	IntOrString bool              `json:"x-kubernetes-int-or-string"`
	Rules       []rule            `json:"x-kubernetes-validations"`
}

type rule struct {
	Rule string `json:"rule"`
}

// definition is what the page needs of a CRD.
type definition struct {
	Spec struct {
		Versions []struct {
			Schema struct {
				OpenAPIV3Schema schema `json:"openAPIV3Schema"`
			} `json:"schema"`
		} `json:"versions"`
	} `json:"spec"`
}

// generate returns the page, made of the CRDs below root.
func generate(root string) ([]byte, error) {
	t, err := template.New("api.md").Funcs(template.FuncMap{
		"fields": func(plural, path string) (string, error) { return fields(root, plural, path) },
	}).Parse(page)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, nil)
	return b.Bytes(), err
}

// fields returns the table of what lies below a path such as spec, or of a kind's
// own fields where the path is empty.
func fields(root, plural, path string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, "manifests", "crd", "kubectl-upgrade.dev_"+plural+".yaml"))
	if err != nil {
		return "", err
	}
	var crd definition
	if err := yaml.Unmarshal(text, &crd); err != nil {
		return "", err
	}
	top := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	for _, name := range []string{"apiVersion", "kind", "metadata"} {
		delete(top.Properties, name)
	}
	for _, name := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' }) {
		below, ok := top.Properties[name]
		if !ok {
			return "", fmt.Errorf("%s has no %s", plural, path)
		}
		top = below
	}
	rows := []string{"| field | type | meaning |", "| --- | --- | --- |"}
	return strings.Join(append(rows, table(path, top)...), "\n"), nil
}

// known are fields whose parts stand in a table of their own, or are those of
// every object of Kubernetes.
var known = []string{"conditions", "nodeSelector", "podSelector", "strategy", "drain"}

func table(path string, s schema) []string {
	if s.Items != nil {
		path, s = path+"[]", *s.Items
	}
	var rows []string
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		field, here := without(s.Properties[name], name, s.Rules), strings.TrimPrefix(path+"."+name, ".")
		rows = append(rows, fmt.Sprintf("| `%s` | %s | %s |", here, kind(field, slices.Contains(s.Required, name)), meaning(field.Description)))
		if !slices.Contains(known, name) {
			rows = append(rows, table(here, field)...)
		}
	}
	return rows
}

func kind(s schema, required bool) string {
	text := s.Type
	switch {
	case s.IntOrString:
		text = "number or percentage"
	case s.Format == "date-time":
		text = "time"
	case s.Type == "array":
		text = "list"
		if values := s.Items.Enum; len(values) > 0 {
			text = "list of " + strings.Join(values, ", ")
		}
	case len(s.Enum) > 0:
		text = strings.Join(s.Enum, ", ")
	}
	switch value := s.Default.(type) {
	case nil, map[string]any:
	default:
		text += fmt.Sprintf("; default `%v`", value)
	}
	if required {
		text += "; required"
	}
	return text
}

// refused is a rule that leaves out one value of a field whose type has more.
var refused = regexp.MustCompile(`^self\.(\w+) != '(\w+)'$`)

// without returns the field without the values that the rules of its object refuse.
func without(field schema, name string, rules []rule) schema {
	field.Enum = slices.DeleteFunc(slices.Clone(field.Enum), func(value string) bool {
		return slices.ContainsFunc(rules, func(r rule) bool {
			m := refused.FindStringSubmatch(r.Rule)
			return m != nil && m[1] == name && m[2] == value
		})
	})
	return field
}

// meaning puts a description onto one line of a table.
func meaning(description string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(description), " "), "|", `\|`)
}
