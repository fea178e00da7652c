package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
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
	Rules       []struct {
		Rule string `json:"rule"`
	} `json:"x-kubernetes-validations"`
}

// generate returns the page, made of the CRDs below root.
func generate(root string) ([]byte, error) {
	t, err := template.New("api.md").Funcs(template.FuncMap{
		"fields": func(plural, part string) (string, error) { return fields(root, plural, part) },
	}).Parse(page)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, nil)
	return b.Bytes(), err
}

// fields is the table of a kind's spec or status.
func fields(root, plural, part string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, "manifests", "crd", "kubectl-upgrade.dev_"+plural+".yaml"))
	if err != nil {
		return "", err
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema schema `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(text, &crd); err != nil {
		return "", err
	}
	top, ok := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties[part]
	if !ok {
		return "", fmt.Errorf("%s has no %s", plural, part)
	}
	rows := []string{"| field | type | meaning |", "| --- | --- | --- |"}
	return strings.Join(append(rows, table(part, top)...), "\n"), nil
}

// known are types whose parts every user of Kubernetes has met before.
var known = []string{"conditions", "nodeSelector"}

func table(path string, s schema) []string {
	if s.Items != nil {
		path, s = path+"[]", *s.Items
	}
	names := make([]string, 0, len(s.Properties))
	for name := range s.Properties {
		names = append(names, name)
	}
	sort.Strings(names)
	var rows []string
	for _, name := range names {
		field := s.Properties[name]
		here := path + "." + name
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
		if values := allowed(*s.Items); len(values) > 0 {
			text = "list of " + strings.Join(values, ", ")
		}
	case len(s.Enum) > 0:
		text = strings.Join(allowed(s), ", ")
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

// refused is a rule that leaves out one value of a type that others have whole.
var refused = regexp.MustCompile(`^self != '(\w+)'$`)

// allowed are the values of an enumeration that no rule refuses.
func allowed(s schema) []string {
	return slices.DeleteFunc(slices.Clone(s.Enum), func(value string) bool {
		for _, r := range s.Rules {
			if m := refused.FindStringSubmatch(r.Rule); m != nil && m[1] == value {
				return true
			}
		}
		return false
	})
}

// meaning puts a description onto one line of a table.
func meaning(description string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(description), " "), "|", `\|`)
}
