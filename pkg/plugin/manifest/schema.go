package manifest

import (
	"cmp"
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/manifests/crd"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// schema is what a definition, or a Go type, says about a value. Rules in CEL are
// left to the code of the kind.
type schema struct {
	Type                 string             `json:"type"`
	Nullable             bool               `json:"nullable"`
	Default              any                `json:"default"`
	Enum                 []any              `json:"enum"`
	Pattern              string             `json:"pattern"`
	Format               string             `json:"format"`
	MinLength            *int               `json:"minLength"`
	MaxLength            *int               `json:"maxLength"`
	Minimum              *float64           `json:"minimum"`
	Maximum              *float64           `json:"maximum"`
	MinItems             *int               `json:"minItems"`
	MaxItems             *int               `json:"maxItems"`
	MaxProperties        *int               `json:"maxProperties"`
	Required             []string           `json:"required"`
	Properties           map[string]*schema `json:"properties"`
	AdditionalProperties *schema            `json:"additionalProperties"`
	Items                *schema            `json:"items"`
	ListType             string             `json:"x-kubernetes-list-type"`
	ListMapKeys          []string           `json:"x-kubernetes-list-map-keys"`
	IntOrString          bool               `json:"x-kubernetes-int-or-string"`
	PreserveUnknown      bool               `json:"x-kubernetes-preserve-unknown-fields"`

	// decodes is a Go type that reads values itself.
	decodes reflect.Type
}

// definitions are the schemas of our kinds that were read.
var definitions sync.Map

// definitionOf returns the schema of one of our kinds.
func definitionOf(kind string) *schema {
	if known, ok := definitions.Load(kind); ok {
		return known.(*schema)
	}
	var definition struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema *schema `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	text, err := crd.Files.ReadFile(v1alpha1.Group + "_" + plural(kind) + ".yaml")
	if err == nil {
		err = yaml.Unmarshal(text, &definition)
	}
	if err != nil {
		panic(err) // the program has the files of all our kinds
	}
	s := definition.Spec.Versions[0].Schema.OpenAPIV3Schema
	s.Properties["metadata"] = typesOf(reflect.TypeFor[metav1.ObjectMeta](), false)
	s.Required = append(s.Required, "metadata")
	s.Properties["status"] = s.Properties["status"].names()
	definitions.Store(kind, s)
	return s
}

// names returns the schema with the names of its fields only. Of the status of a new object, the API
// server checks no more: it is not stored.
func (s *schema) names() *schema {
	only := &schema{Nullable: true, Properties: map[string]*schema{}, PreserveUnknown: len(s.Properties) == 0}
	for name, below := range s.Properties {
		only.Properties[name] = below.names()
	}
	if s.Items != nil {
		only.Items = s.Items.names()
	}
	return only
}

// plural returns the name of the kind's resource.
func plural(kind string) string {
	kind = strings.ToLower(kind)
	if stem, is := strings.CutSuffix(kind, "y"); is {
		return stem + "ies"
	}
	return kind + "s"
}

// typesOf returns the schema of a Go type. Lenient: other fields are not refused.
func typesOf(t reflect.Type, lenient bool) *schema {
	b := typeReader{lenient: lenient, known: map[reflect.Type]*schema{}}
	return b.schema(t)
}

// typeReader makes schemas of Go types.
type typeReader struct {
	lenient bool
	known   map[reflect.Type]*schema // a type may contain itself
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

func (r typeReader) schema(t reflect.Type) *schema {
	if s := r.known[t]; s != nil {
		return s
	}
	s := &schema{Nullable: true}
	r.known[t] = s
	if reflect.PointerTo(t).Implements(unmarshaler) {
		s.decodes = t
		return s
	}
	switch t.Kind() {
	case reflect.Pointer:
		*s = *r.schema(t.Elem())
	case reflect.String:
		s.Type = "string"
	case reflect.Bool:
		s.Type = "boolean"
	case reflect.Float32, reflect.Float64:
		s.Type = "number"
	case reflect.Interface:
		s.PreserveUnknown = true
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			s.decodes = t
			return s
		}
		s.Type, s.Items = "array", r.item(t.Elem())
	case reflect.Map:
		s.Type, s.AdditionalProperties = "object", r.schema(t.Elem())
	case reflect.Struct:
		s.Type, s.Properties, s.PreserveUnknown = "object", map[string]*schema{}, r.lenient
		r.addFields(s, t)
	default:
		s.Type = "integer"
	}
	return s
}

// item returns the schema of the items of a list, which are never null.
func (r typeReader) item(t reflect.Type) *schema {
	one := *r.schema(t)
	one.Nullable = false
	return &one
}

// addFields adds the fields of a struct by their JSON names.
func (r typeReader) addFields(s *schema, t reflect.Type) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case name == "" && field.Anonymous:
			r.addFields(s, field.Type)
		case field.IsExported():
			s.Properties[cmp.Or(name, field.Name)] = r.schema(field.Type)
		}
	}
}
