package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
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
		Names struct {
			Kind string `json:"kind"`
		} `json:"names"`
		Versions []struct {
			Schema struct {
				OpenAPIV3Schema schema `json:"openAPIV3Schema"`
			} `json:"schema"`
		} `json:"versions"`
	} `json:"spec"`
}

// generate returns the page, made of the CRDs below root.
func generate(root string) ([]byte, error) {
	w := writer{root: root, seen: map[string]string{}, said: map[string]string{}}
	t, err := template.New("api.md").Funcs(template.FuncMap{"fields": w.fields}).Parse(page)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, nil)
	return b.Bytes(), err
}

// writer writes the tables of one page.
type writer struct {
	root string
	kind string            // of the table that is being written
	seen map[string]string // by parts of a field: where they were written first
	said map[string]string // by name and description of a field: where it was described first
}

// fields returns the table of what lies below a path such as spec, or of a kind's
// own fields where the path is empty.
func (w *writer) fields(plural, path string) (string, error) {
	text, err := os.ReadFile(filepath.Join(w.root, "manifests", "crd", "kubectl-upgrade.dev_"+plural+".yaml"))
	if err != nil {
		return "", err
	}
	var crd definition
	if err := yaml.Unmarshal(text, &crd); err != nil {
		return "", err
	}
	w.kind = crd.Spec.Names.Kind
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
	return strings.Join(append(rows, w.table(path, top)...), "\n"), nil
}

// known are fields whose parts stand in a table of their own, or are those of
// every object of Kubernetes.
var known = []string{"conditions", "nodeSelector", "podSelector", "strategy", "drain"}

func (w *writer) table(path string, s schema) []string {
	if s.Items != nil {
		path, s = path+"[]", *s.Items
	}
	var rows []string
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		field, here := without(s.Properties[name], name, s.Rules), strings.TrimPrefix(path+"."+name, ".")
		what, first := kind(field, slices.Contains(s.Required, name)), w.first(here, field)
		if first != "" {
			what += "; its fields as in " + first
		}
		rows = append(rows, fmt.Sprintf("| `%s` | %s | %s |", here, what, w.meaning(name, here, field.Description)))
		if first == "" && !slices.Contains(known, name) {
			rows = append(rows, w.table(here, field)...)
		}
	}
	return rows
}

// first returns where the page has a field with the same parts already; empty: nowhere.
func (w *writer) first(path string, field schema) string {
	if field.Items != nil {
		field = *field.Items
	}
	if len(field.Properties) == 0 || slices.Contains(known, path[strings.LastIndex(path, ".")+1:]) {
		return ""
	}
	data, err := json.Marshal(field.Properties)
	if err != nil {
		panic(err) // it was JSON before
	}
	parts := string(data)
	if first := w.seen[parts]; first != "" {
		return first
	}
	w.seen[parts] = fmt.Sprintf("`%s` of %s", path, w.kind)
	return ""
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

// longest is the longest description, in words, that the page repeats.
const longest = 8

// meaning returns the description of a field, or where the page describes a field of that name with the
// same words.
func (w *writer) meaning(name, path, description string) string {
	text := oneLine(name, description)
	if len(strings.Fields(text)) <= longest {
		return text
	}
	if first := w.said[name+": "+text]; first != "" {
		return "As " + strings.TrimSuffix(first, " of "+w.kind) + "."
	}
	w.said[name+": "+text] = fmt.Sprintf("`%s` of %s", path, w.kind)
	return text
}

// oneLine puts the description of a field onto one line of a table, without the field's own
// name and its verb.
func oneLine(name, description string) string {
	words := strings.Fields(description)
	if len(words) > 2 && strings.EqualFold(words[0], name) && (words[1] == "is" || words[1] == "are") {
		words = words[2:]
		words[0] = strings.ToUpper(words[0][:1]) + words[0][1:]
	}
	return strings.ReplaceAll(strings.Join(words, " "), "|", `\|`)
}
