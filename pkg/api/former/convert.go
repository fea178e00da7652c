package former

import (
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Change is what changes in one field of an object.
type Change struct {
	// Object is the path to the object that has the field: names (string) and numbers of items (int).
	Object []any
	// Was and Now are the field's names. Was is empty for a field that was absent and is required now.
	Was, Now string
	// Value is the field's value now.
	Value any
	// ByHand is what to write instead, where Convert cannot know it and leaves the field. Empty: it can.
	ByHand string
	// ByName reports whether the text that was the value is the field name of an object now.
	ByName bool
}

// String returns the change for people, such as "spec.hooks[0].onFailure is now failurePolicy".
func (c Change) String() string {
	at := pathOf(c.Object)
	switch {
	case c.ByHand != "":
		return fmt.Sprintf("%s is no field any more: %s", join(at, c.Was), c.ByHand)
	case c.Was == "":
		return fmt.Sprintf("%s is required now: %q", join(at, c.Now), c.Value)
	case c.Was != c.Now && c.ByName:
		return fmt.Sprintf("%s is now %s, an object with a name", join(at, c.Was), c.Now)
	case c.Was != c.Now:
		return fmt.Sprintf("%s is now %s", join(at, c.Was), c.Now)
	case c.ByName:
		return fmt.Sprintf("%s is now an object with a name", join(at, c.Was))
	}
	return fmt.Sprintf("%s is now %q", join(at, c.Was), c.Value)
}

// Convert changes an object of ours to today's names and shapes, and returns what it changed. It
// leaves the objects of other groups as they are.
func Convert(object map[string]any) []Change {
	kind, _ := object["kind"].(string)
	if apiVersion, _ := object["apiVersion"].(string); apiVersion != v1alpha1.GroupVersion.String() {
		return nil
	}
	return convert(kind, object)
}

// Applied returns what Convert would change in the object that `kubectl apply` has applied last, by its
// annotations. The API server has dropped these fields.
func Applied(annotations map[string]string) []Change {
	var object map[string]any
	if json.Unmarshal([]byte(annotations[corev1.LastAppliedConfigAnnotation]), &object) != nil {
		return nil
	}
	return Convert(object)
}

// ConvertSnapshot changes the objects of a saved snapshot, which say no kind.
func ConvertSnapshot(snapshot map[string]any) {
	for list, kind := range map[string]string{
		"schedules": "MaintenanceSchedule", "upgrades": "ClusterUpgrade", "nodeUpgrades": "NodeUpgrade",
	} {
		each(snapshot, nil, []string{list, "[]"}, func(object map[string]any, _ []any) { convert(kind, object) })
	}
	each(snapshot, nil, []string{"policy"}, func(object map[string]any, _ []any) { convert("UpgradePolicy", object) })
}

func convert(kind string, object map[string]any) (changes []Change) {
	for _, f := range fields {
		if f.kind != kind {
			continue
		}
		each(object, nil, steps(f.at), func(parent map[string]any, at []any) {
			if c, changed := f.convert(parent); changed {
				c.Object = at
				changes = append(changes, c)
			}
		})
	}
	return changes
}

// Hint returns what to write instead of a field of an earlier version, by the path to the object that
// has it: names (string) and numbers of items (int). Empty: it is no such field.
func Hint(kind string, object []any, field string) string {
	for _, f := range fields {
		switch here := f.kind == kind && f.was == field && f.at == patternOf(object); {
		case here && f.byHand != "":
			return f.byHand
		case here && f.was != f.now:
			return fmt.Sprintf("it is called %s now, and `kubectl upgrade migrate objects -f FILE` rewrites the file", f.now)
		}
	}
	return ""
}

// convert changes the field of an object.
func (f field) convert(parent map[string]any) (c Change, changed bool) {
	value, has := parent[f.was]
	_, hasNow := parent[f.now]
	text, isText := value.(string)
	c = Change{Was: f.was, Now: f.now, Value: value}
	switch {
	case f.byHand != "":
		return Change{Was: f.was, ByHand: f.byHand}, has
	case !has && !hasNow && f.absent != "":
		c.Was, c.Value = "", f.absent
	case !has, f.was != f.now && hasNow:
		return Change{}, false
	case f.byName && isText:
		c.Value, c.ByName = map[string]any{"name": text}, true
	case f.problem != "" && isText:
		c.Value = map[string]any{"reason": string(f.problem), "message": text}
	case f.values[fmt.Sprint(value)] != "":
		c.Value = f.values[fmt.Sprint(value)]
	case f.was == f.now:
		return Change{}, false
	}
	delete(parent, f.was)
	parent[f.now] = c.Value
	return c, true
}

// steps returns the names in a pattern; [] is one of its own.
func steps(pattern string) []string {
	return strings.FieldsFunc(strings.ReplaceAll(pattern, "[]", ".[]"), func(r rune) bool { return r == '.' })
}

// each calls change with every object at the steps below value.
func each(value any, at []any, steps []string, change func(object map[string]any, at []any)) {
	below := func(step any) []any { return append(at[:len(at):len(at)], step) }
	object, isObject := value.(map[string]any)
	if len(steps) == 0 {
		if isObject {
			change(object, at)
		}
		return
	}
	switch step, rest := steps[0], steps[1:]; {
	case step == "[]":
		list, _ := value.([]any)
		for i, one := range list {
			each(one, below(i), rest, change)
		}
	case isObject:
		each(object[step], below(step), rest, change)
	}
}

// pathOf returns the path for people, such as spec.hooks[0].
func pathOf(at []any) (text string) {
	for _, step := range at {
		if name, isName := step.(string); isName {
			text = join(text, name)
		} else {
			text += fmt.Sprintf("[%d]", step)
		}
	}
	return text
}

// patternOf returns the path with [] for each item.
func patternOf(at []any) (text string) {
	for _, step := range at {
		if name, isName := step.(string); isName {
			text = join(text, name)
		} else {
			text += "[]"
		}
	}
	return text
}

func join(at, name string) string { return strings.TrimPrefix(at+"."+name, ".") }
