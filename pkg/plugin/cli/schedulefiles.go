package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

// schedulesIn reads the MaintenanceSchedules in files, in the YAML and JSON files of
// folders, and on standard input for "-". It skips other kinds, so that a folder of a Git
// repository can be read as it is. A field that the kind does not have is an error, as it
// is on the API server.
func (p *program) schedulesIn(paths []string) ([]v1alpha1.MaintenanceSchedule, error) {
	var all []v1alpha1.MaintenanceSchedule
	from := map[string]string{}
	for _, path := range paths {
		files, err := filesOf(path)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			found, err := p.schedulesInFile(file)
			if err != nil {
				return nil, fmt.Errorf("reading %s: %w", displayName(file), err)
			}
			for _, s := range found {
				if before, twice := from[s.Name]; twice {
					return nil, fmt.Errorf("reading %s: MaintenanceSchedule %s is also defined in %s", displayName(file), s.Name, displayName(before))
				}
				from[s.Name] = file
			}
			all = append(all, found...)
		}
	}
	if len(all) == 0 {
		names := make([]string, len(paths))
		for i, path := range paths {
			names[i] = displayName(path)
		}
		return nil, fmt.Errorf("there is no MaintenanceSchedule in %s", strings.Join(names, ", "))
	}
	return all, nil
}

// displayName returns the name of a file for messages.
func displayName(file string) string {
	if file == "-" {
		return "standard input"
	}
	return file
}

// filesOf returns the file itself, or the files of a folder without those of folders in
// it, as kubectl does.
func filesOf(path string) ([]string, error) {
	if path == "-" {
		return []string{path}, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("reading schedules: %w; -f requires a file, a folder, or - for standard input", err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, entry := range entries {
		if !entry.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(entry.Name())) {
			files = append(files, filepath.Join(path, entry.Name()))
		}
	}
	return files, nil
}

func (p *program) schedulesInFile(file string) ([]v1alpha1.MaintenanceSchedule, error) {
	in := p.In
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, errors.Unwrap(err)
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	found, err := decodeSchedules(bytes.NewReader(text))
	return found, explainSchedule(err, text)
}

// decodeSchedules reads a stream of YAML or JSON documents.
func decodeSchedules(in io.Reader) ([]v1alpha1.MaintenanceSchedule, error) {
	documents := utilyaml.NewYAMLReader(bufio.NewReader(in))
	var all []v1alpha1.MaintenanceSchedule
	for {
		text, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		found, err := decodeDocument(text)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
}

// decodeDocument reads one document, which may be a list.
func decodeDocument(text []byte) ([]v1alpha1.MaintenanceSchedule, error) {
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if err := yaml.Unmarshal(text, &head); err != nil {
		return nil, fmt.Errorf("it is not valid YAML or JSON: %s", strings.TrimPrefix(err.Error(), "error converting YAML to JSON: yaml: "))
	}
	ours := head.APIVersion == v1alpha1.GroupVersion.String()
	switch {
	case head.Kind == "MaintenanceSchedule" && !ours:
		return nil, fmt.Errorf("a MaintenanceSchedule with apiVersion %q: want %s", head.APIVersion, v1alpha1.GroupVersion)
	case head.Kind == "MaintenanceSchedule":
		one, err := decodeSchedule(text)
		return []v1alpha1.MaintenanceSchedule{one}, err
	case head.Kind == "MaintenanceScheduleList" && ours, head.Kind == "List" && head.APIVersion == "v1":
		return decodeList(text)
	}
	return nil, nil
}

// decodeSchedule is as strict as the API server: names of fields are case-sensitive.
func decodeSchedule(text []byte) (one v1alpha1.MaintenanceSchedule, err error) {
	object, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return one, err
	}
	strict, err := kjson.UnmarshalStrict(object, &one)
	if err != nil {
		return one, err
	}
	if len(strict) > 0 {
		return one, strictError(strict[0])
	}
	if err := checkScheduleNames(one); err != nil {
		return one, err
	}
	return one, schedule.Check(&one)
}

// strictError returns an unknownField if that is what the error of strict decoding is about.
func strictError(err error) error {
	var field unknownField
	if _, scanErr := fmt.Sscanf(err.Error(), "unknown field %q", &field); scanErr == nil {
		return field
	}
	return err
}

// decodeList reads a list such as `kubectl get -o yaml` prints.
func decodeList(text []byte) ([]v1alpha1.MaintenanceSchedule, error) {
	var list struct {
		Items []any `json:"items"`
	}
	if err := yaml.Unmarshal(text, &list); err != nil {
		return nil, err
	}
	var all []v1alpha1.MaintenanceSchedule
	for _, item := range list.Items {
		one, err := yaml.Marshal(item)
		if err != nil {
			return nil, err
		}
		found, err := decodeDocument(one)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

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
