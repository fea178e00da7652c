package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

// explainSchedule returns the error of decoding text with the line and the field that it is
// about, and with what was probably meant.
func explainSchedule(err error, text []byte) error {
	var notTime *time.ParseError
	var wrongType *json.UnmarshalTypeError
	var unknown unknownField
	switch {
	case errors.As(err, &notTime):
		at := find(text, func(p place) bool { return p.value == notTime.Value })
		return fmt.Errorf("%s%q is not a time with an offset, such as 2026-01-03T01:00:00Z or 2026-01-03T02:00:00+01:00", at, notTime.Value)
	case errors.As(err, &wrongType):
		return explainType(wrongType, text)
	case errors.As(err, &unknown):
		at := find(text, func(p place) bool { return p.field == string(unknown) })
		return fmt.Errorf("%s%w", strings.TrimSuffix(at, string(unknown)+": "), err)
	}
	return err
}

// warnOf writes what in the schedules is probably a mistake.
func (p *program) warnOf(schedules []v1alpha1.MaintenanceSchedule, now time.Time) {
	for _, s := range schedules {
		for _, finding := range schedule.Lint(s, now) {
			fmt.Fprintf(p.ErrOut, "warning: schedule %s: %s: %s\n", finding.Schedule, finding.Field, finding.Message)
		}
	}
}

// find returns the first place that matches, as the beginning of a message; empty: none.
func find(text []byte, matches func(place) bool) string {
	all := places(text)
	i := slices.IndexFunc(all, matches)
	if i < 0 {
		return ""
	}
	return all[i].String() + ": "
}

// yamlBooleans are the words that YAML 1.1 reads as true or false without quotes:
// https://yaml.org/type/bool.html
var yamlBooleans = []string{"y", "n", "yes", "no", "on", "off", "true", "false"}

// explainType returns the error for a value of another type than its field has.
func explainType(wrong *json.UnmarshalTypeError, text []byte) error {
	field := withoutStructs(wrong.Field)
	key := field[strings.LastIndex(field, ".")+1:]
	all := places(text)
	i := slices.IndexFunc(all, func(p place) bool { return p.key == key && p.reads(wrong.Value) })
	if i < 0 {
		return fmt.Errorf("%s: must be %s, not %s", field, kindName(wrong.Type), jsonNames[wrong.Value])
	}
	if wrong.Type.Kind() == reflect.String && all[i].value != "" {
		return fmt.Errorf("%s: write %q in quotes: without them YAML reads it as %s", all[i], all[i].value, jsonNames[wrong.Value])
	}
	return fmt.Errorf("%s: must be %s, not %s", all[i], kindName(wrong.Type), jsonNames[wrong.Value])
}

// withoutStructs removes the names of embedded Go types from the path of a field.
func withoutStructs(path string) string {
	names := slices.DeleteFunc(strings.Split(path, "."), func(name string) bool { return name != "" && strings.ToLower(name[:1]) != name[:1] })
	return strings.Join(names, ".")
}

// jsonNames are encoding/json's names of values, for people.
var jsonNames = map[string]string{"bool": "true or false", "number": "a number", "string": "text", "array": "a list", "object": "an object"}

func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	case reflect.Struct, reflect.Map, reflect.Pointer:
		return "an object"
	default:
		return "a number"
	}
}

// unknownField is the error for a field that the kind does not have.
type unknownField string

func (f unknownField) Error() string {
	name := string(f)[strings.LastIndex(string(f), ".")+1:]
	hint := "`kubectl explain maintenanceschedule.spec` lists the fields"
	if near := nearest(name, fieldNames(reflect.TypeFor[v1alpha1.MaintenanceSchedule]())); near != "" {
		hint = "did you mean " + near + "?"
	}
	return fmt.Sprintf("unknown field %q; %s", string(f), hint)
}

// nearest returns the name that is most likely meant, by the rules by which cobra suggests
// commands; empty: none is near.
func nearest(name string, names []string) string {
	commands := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, n := range names {
		commands.AddCommand(&cobra.Command{Use: n, Run: func(*cobra.Command, []string) {}})
	}
	near := commands.SuggestionsFor(name)
	if len(near) == 0 {
		return ""
	}
	return slices.Min(near)
}

// fieldNames returns the JSON names of the fields of our own types in t.
func fieldNames(t reflect.Type) (names []string) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		return fieldNames(t.Elem())
	case reflect.Struct:
	default:
		return nil
	}
	if t.PkgPath() != reflect.TypeFor[v1alpha1.MaintenanceSchedule]().PkgPath() {
		return nil
	}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
		names = append(names, fieldNames(t.Field(i).Type)...)
	}
	return names
}
