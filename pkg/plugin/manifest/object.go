package manifest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/former"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/request"
)

// Problem is what is wrong in a file, and where.
type Problem struct {
	Document int    // from 1; 0: the file has one only
	Line     int    // of the file, from 1
	Field    string // such as spec.timeZone; empty: it is not about a field
	Message  string
}

func (p *Problem) Error() string {
	text := fmt.Sprintf("line %d: ", p.Line)
	if p.Document > 1 {
		text = fmt.Sprintf("document %d, ", p.Document) + text
	}
	if p.Field != "" {
		text += p.Field + ": "
	}
	return text + p.Message
}

// Object is an object of a file.
type Object struct {
	APIVersion, Kind string

	value map[string]any
	in    *document
	root  path // from the document to the object, which may be an item of a list
}

// maxNesting is how deep Lists may be in Lists. Tools write one.
const maxNesting = 8

// Read returns the objects of a file. The items of a list are objects, the list itself is not.
func Read(text []byte) ([]Object, error) {
	if err := checkSize(text); err != nil {
		return nil, err
	}
	documents, err := split(text)
	if err != nil {
		return nil, err
	}
	var all []Object
	for _, d := range documents {
		if all, err = add(all, Object{in: d}, d.value, Object{}); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// add adds the value, which is one object or a list of them. of is what a list says about the kind
// of its items.
func add(all []Object, o Object, value any, of Object) ([]Object, error) {
	object, is := value.(map[string]any)
	if !is {
		return nil, o.problem(&fault{message: fmt.Sprintf("it is %s, not an object with apiVersion and kind", typeNames[kindOf(value)])})
	}
	o.value = object
	o.APIVersion, _ = object["apiVersion"].(string)
	o.Kind, _ = object["kind"].(string)
	switch {
	case o.Kind == "" && o.APIVersion == "" && of.Kind != "":
		o.APIVersion, o.Kind = of.APIVersion, of.Kind
		object["apiVersion"], object["kind"] = o.APIVersion, o.Kind
	case o.Kind == "List" && o.APIVersion != "v1":
		return nil, o.problem(faultAt(path{"apiVersion"}, "a List with apiVersion %q: want v1", short(o.APIVersion)))
	case o.isList():
		return o.addItems(all)
	}
	if f := o.checkKind(); f != nil {
		return nil, o.problem(f)
	}
	return append(all, o), nil
}

// isList reports whether the object is a list of objects. Other programs have kinds such as
// AllowList, whose items are none.
func (o Object) isList() bool {
	items, has := o.value["items"]
	list, is := items.([]any)
	notObject := func(one any) bool { _, object := one.(map[string]any); return !object }
	switch {
	case !has || !strings.HasSuffix(o.Kind, "List"):
		return false
	case o.Kind == "List" || o.isOurs():
		return true
	}
	return is && !slices.ContainsFunc(list, notObject)
}

func (o Object) addItems(all []Object) ([]Object, error) {
	if len(o.root) >= 2*maxNesting {
		return nil, o.problem(faultAt(nil, "Lists are in Lists more than %d times", maxNesting))
	}
	if err := o.checkRepeated(); err != nil {
		return nil, err
	}
	items := o.value["items"]
	list, is := items.([]any)
	if !is && items != nil {
		return nil, o.problem(faultAt(path{"items"}, "must be a list, not %s", typeNames[kindOf(items)]))
	}
	of := Object{APIVersion: o.APIVersion, Kind: strings.TrimSuffix(o.Kind, "List")}
	var err error
	for i, one := range list {
		if all, err = add(all, Object{in: o.in, root: o.root.plus("items", i)}, one, of); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// checkRepeated refuses a list whose items are there twice: one of them would not be read.
func (o Object) checkRepeated() error {
	_, node := locate(o.in.tree(), o.root)
	if node == nil {
		return nil
	}
	top := *node
	top.Content = slices.Clone(node.Content)
	for i := 1; i < len(top.Content); i += 2 {
		top.Content[i] = &yaml.Node{Kind: yaml.ScalarNode}
	}
	if at, line := repeated(&top, nil); at != nil {
		return o.at(line, &fault{at: at, message: "is there twice"})
	}
	return nil
}

func (o Object) isOurs() bool { return strings.HasPrefix(o.APIVersion, v1alpha1.Group+"/") }

// kinds are ours.
var kinds = []string{"MaintenanceSchedule", "UpgradePolicy", "ClusterUpgrade", "NodeUpgrade", "UpgradeRecord", "NodeInventory", "CoordinatorState"}

// checkKind refuses what is probably meant to be an object of ours, and is none.
func (o Object) checkKind() *fault {
	known := slices.Contains(kinds, o.Kind) || slices.Contains(kinds, strings.TrimSuffix(o.Kind, "List"))
	switch {
	case known && o.APIVersion != v1alpha1.GroupVersion.String():
		return faultAt(path{"apiVersion"}, "a %s with apiVersion %q: want %s", o.Kind, short(o.APIVersion), v1alpha1.GroupVersion)
	case o.isOurs() && o.Kind == "":
		return faultAt(path{"kind"}, "is missing")
	case o.isOurs() && !known:
		f := faultAt(path{"kind"}, "there is no kind %q in %s", short(o.Kind), v1alpha1.Group)
		if near := request.Nearest(o.Kind, kinds); near != "" {
			f.hint = fmt.Sprintf("did you mean %s?", near)
		}
		return f
	}
	return nil
}

// problem returns the fault with its place.
func (o Object) problem(f *fault) error {
	line, node := locate(o.in.tree(), o.root.plus(f.at...))
	if f.unquoted && node != nil && node.Kind == yaml.ScalarNode && node.Style == 0 && node.Value != "" {
		f.message = fmt.Sprintf("write %q in quotes: %s", short(node.Value), strings.Replace(f.message, "must be text, not", "without them YAML reads it as", 1))
	}
	return o.at(line, f)
}

// at returns the fault with its line in the document.
func (o Object) at(line int, f *fault) error {
	p := &Problem{Line: o.in.line + line - 1, Field: f.at.String(), Message: f.message}
	if len(f.at) == 0 {
		p.Field = o.root.String()
	}
	if o.in.of > 1 {
		p.Document = o.in.number
	}
	if f.unknown {
		above, name := f.at[:len(f.at)-1], f.at[len(f.at)-1].(string)
		f.hint = cmp.Or(former.Hint(o.Kind, above, name), f.hint)
	}
	ours := f.hint == "" && slices.Contains(kinds, o.Kind)
	switch {
	case f.unknown && ours:
		f.hint = fmt.Sprintf("`kubectl explain %s` lists the fields", o.explained(f.at[:len(f.at)-1]))
	case f.missing && ours:
		f.hint = fmt.Sprintf("`kubectl explain %s` says what it is", o.explained(f.at))
	}
	if f.unknown {
		p.Field = "" // the message has it
	}
	if f.hint != "" {
		p.Message += "; " + f.hint
	}
	return p
}

// explained returns the field as `kubectl explain` knows it.
func (o Object) explained(at path) string {
	return strings.Join(append([]string{strings.ToLower(o.Kind)}, at.fields()...), ".")
}

// Place returns where the object is in its file, such as "line 7".
func (o Object) Place() string {
	line, _ := locate(o.in.tree(), o.root)
	return fmt.Sprintf("line %d", o.in.line+line-1)
}

// Problem returns the error about a field of the object, such as spec.timeZone, with its place.
func (o Object) Problem(field string, err error) error {
	return o.problem(faultAt(parsePath(field), "%s", err))
}

// Decode reads the object into a value of its kind. It refuses what the API server refuses by the
// definition of the kind, if that is one of ours. Of other kinds it reads the fields that the type
// of the value has.
func (o Object) Decode(into any) error {
	rules := typesOf(reflect.TypeOf(into), true)
	if o.isOurs() {
		if _, node := locate(o.in.tree(), o.root); node != nil {
			if at, line := repeated(node, nil); at != nil {
				return o.at(line, &fault{at: at, message: "is there twice"})
			}
		}
		rules = definitionOf(o.Kind)
	}
	if f := rules.check(o.value, nil); f != nil {
		return o.problem(f)
	}
	if o.isOurs() {
		delete(o.value, "status")
	}
	return o.decode(into)
}

// decode reads a value that was checked.
func (o Object) decode(into any) error {
	text, err := json.Marshal(o.value)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return o.problem(faultAt(nil, "it cannot be read as a %s", o.Kind))
	}
	return nil
}
