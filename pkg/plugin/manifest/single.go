package manifest

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"
)

// Earlier is how earlier versions wrote an object.
type Earlier struct {
	APIVersion string
	Kinds      []string                    // names that its kind had there
	Convert    func(object map[string]any) // changes an object of such a version; nil: its fields are the same
}

// has reports whether an earlier version wrote such an object.
func (e Earlier) has(apiVersion, kind string) bool {
	return e.APIVersion == apiVersion && slices.Contains(e.Kinds, kind)
}

// ReadSingle reads the one object of a file into a value of its kind, as the program wrote it. Every
// field must be known, and every object in it must have a name. What
// earlier versions wrote is read, too.
func ReadSingle(text []byte, apiVersion, kind string, into any, earlier Earlier) error {
	var head metav1.TypeMeta
	isKind := json.Unmarshal(text, &head) == nil && (head.APIVersion == apiVersion && head.Kind == kind || earlier.has(head.APIVersion, head.Kind))
	if isKind && !bytes.Contains(text, []byte("null")) { // which reads as an object without anything
		strict, err := kjson.UnmarshalStrict(text, into)
		if err == nil && len(strict) == 0 && nameless(reflect.ValueOf(into).Elem(), nil) == nil {
			return nil
		}
	}
	documents, err := split(text)
	if err != nil {
		return err
	}
	if len(documents) == 0 {
		return &Problem{Line: 1, Message: "it is empty"}
	}
	o := Object{in: documents[0], Kind: kind}
	object, is := o.in.value.(map[string]any)
	version, _ := object["apiVersion"].(string)
	named, _ := object["kind"].(string)
	switch {
	case !is:
		return o.problem(faultAt(nil, "it is %s, not an object", typeNames[kindOf(o.in.value)]))
	case (version != apiVersion || named != kind) && !earlier.has(version, named):
		return o.problem(faultAt(nil, "it has no apiVersion %s with kind %s", apiVersion, kind))
	case len(documents) > 1:
		return Object{in: documents[1]}.problem(faultAt(nil, "only one object was expected"))
	}
	o.value = object
	if at, line := repeated(o.in.tree(), nil); at != nil {
		return o.at(line, faultAt(at, "is there twice"))
	}
	if earlier.Convert != nil {
		earlier.Convert(object)
	}
	if f := typesOf(reflect.TypeOf(into).Elem(), false).check(object, nil); f != nil {
		return o.problem(f)
	}
	if err := o.decode(into); err != nil {
		return err
	}
	if at := nameless(reflect.ValueOf(into).Elem(), nil); at != nil {
		return o.problem(faultAt(at, "is missing"))
	}
	return nil
}

// ProblemIn returns the error about a field of a file's one object, such as stages[0].name, with its line.
func ProblemIn(text []byte, field string, problem error) error {
	documents, err := split(text)
	if err != nil || len(documents) == 0 {
		return problem
	}
	return Object{in: documents[0]}.Problem(field, problem)
}

// nameless returns the path to the name of the first item of the object's lists that should have
// one, and has none.
func nameless(object reflect.Value, at path) path {
	for i := range object.NumField() {
		field := object.Type().Field(i)
		below := object.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous:
			if found := nameless(below, at); found != nil {
				return found
			}
		case below.Kind() == reflect.Slice && below.Type().Elem().Kind() == reflect.Struct:
			for j := range below.Len() {
				if found := unnamed(below.Index(j), at.plus(name, j)); found != nil {
					return found
				}
			}
		}
	}
	return nil
}

// unnamed returns the path to the name of an item, if that is empty.
func unnamed(item reflect.Value, at path) path {
	if object, is := item.Addr().Interface().(metav1.Object); is {
		if object.GetName() == "" {
			return at.plus("metadata", "name")
		}
		return nil
	}
	if name := item.FieldByName("Name"); name.IsValid() && name.Kind() == reflect.String && name.String() == "" {
		return at.plus("name")
	}
	return nil
}
