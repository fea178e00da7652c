package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/request"
)

// fault is what is wrong with a value.
type fault struct {
	at      path
	message string
	// unquoted: without quotes, YAML reads text as something else.
	unquoted bool
	unknown  bool // there is no such field
	missing  bool
	// hint is what to do, or what was probably meant.
	hint string
}

func faultAt(at path, format string, args ...any) *fault {
	return &fault{at: at, message: fmt.Sprintf(format, args...)}
}

// check returns what is wrong with the value, first its size, so that nothing large is read; nil:
// nothing. It adds the defaults of fields that are missing.
func (s *schema) check(value any, at path) *fault {
	switch {
	case s.decodes != nil:
		return s.decode(value, at)
	case value == nil:
		if s.Nullable || s.PreserveUnknown {
			return nil
		}
		return faultAt(at, "is empty (null), and must be %s; leave the field out, or give it a value", s.typeName())
	case s.IntOrString:
		if kindOf(value) != "string" && kindOf(value) != "integer" {
			return faultAt(at, "must be a number or text, not %s", typeNames[kindOf(value)])
		}
		return s.checkEnum(value, at)
	case s.Type != "" && s.Type != kindOf(value) && (s.Type != "number" || kindOf(value) != "integer"):
		f := faultAt(at, "must be %s, not %s", s.typeName(), typeNames[kindOf(value)])
		f.unquoted = s.Type == "string"
		return f
	}
	switch value := value.(type) {
	case string:
		if f := s.checkText(value, at); f != nil {
			return f
		}
	case map[string]any:
		return s.checkObject(value, at)
	case []any:
		return s.checkList(value, at)
	default:
		if f := s.checkNumber(value, at); f != nil {
			return f
		}
	}
	return s.checkEnum(value, at)
}

// kindOf returns the type of a value as schemas call it.
func kindOf(value any) string {
	switch value := value.(type) {
	case string:
		return "string"
	case bool:
		return "boolean"
	case map[string]any:
		return "object"
	case []any:
		return "array"
	case float64:
		if value == float64(int64(value)) {
			return "integer"
		}
		return "number"
	case int64:
		return "integer"
	}
	return "null"
}

// typeNames are the types for people.
var typeNames = map[string]string{
	"string": "text", "boolean": "true or false", "integer": "a number", "number": "a number", "array": "a list", "object": "an object", "null": "empty (null)",
}

func (s *schema) typeName() string {
	if s.Type == "integer" {
		return "a whole number"
	}
	return typeNames[s.Type]
}

// decode checks a value that a Go type reads itself.
func (s *schema) decode(value any, at path) *fault {
	text, err := json.Marshal(value)
	if err != nil {
		return faultAt(at, "cannot be read")
	}
	target := reflect.New(s.decodes).Interface()
	if json.Unmarshal(text, target) == nil {
		return nil
	}
	if s.isTime() {
		return s.checkTime(value, at)
	}
	return faultAt(at, "%s is no %s", text, strings.ToLower(s.decodes.Name()))
}

func (s *schema) isTime() bool {
	return s.Format == "date-time" || s.decodes != nil && strings.HasSuffix(s.decodes.Name(), "Time")
}

func (s *schema) checkTime(value any, at path) *fault {
	text, isText := value.(string)
	if !isText {
		return faultAt(at, "must be a time in quotes, such as \"2026-01-03T01:00:00Z\", not %s", typeNames[kindOf(value)])
	}
	if _, err := time.Parse(time.RFC3339, text); err != nil {
		return faultAt(at, "%q is not a time with an offset, such as 2026-01-03T01:00:00Z or 2026-01-03T02:00:00+01:00", short(text))
	}
	return nil
}

func (s *schema) checkText(text string, at path) *fault {
	length := utf8.RuneCountInString(text)
	switch {
	case s.isTime():
		return s.checkTime(text, at)
	case s.MinLength != nil && length < *s.MinLength:
		return faultAt(at, "must not be empty; leave the field out, or give it a value")
	case s.MaxLength != nil && length > *s.MaxLength:
		return faultAt(at, "has %d characters; at most %d are allowed", length, *s.MaxLength)
	case s.Pattern != "":
		if matches, err := regexp.MatchString(s.Pattern, text); err != nil || !matches {
			return faultAt(at, "%q does not match %s", short(text), s.Pattern)
		}
	}
	return nil
}

// short returns the text, or its beginning if it is long.
func short(text string) string {
	const most = 80
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most]) + "…"
}

func (s *schema) checkNumber(value any, at path) *fault {
	var number float64
	switch value := value.(type) {
	case int64:
		number = float64(value)
	case float64:
		number = value
	default:
		return nil
	}
	switch {
	case s.Minimum != nil && number < *s.Minimum:
		return faultAt(at, "must be %v or more, not %v", *s.Minimum, value)
	case s.Maximum != nil && number > *s.Maximum:
		return faultAt(at, "must be %v or less, not %v", *s.Maximum, value)
	}
	return nil
}

func (s *schema) checkEnum(value any, at path) *fault {
	if len(s.Enum) == 0 || slices.Contains(s.Enum, value) {
		return nil
	}
	var words []string
	for _, one := range s.Enum {
		words = append(words, fmt.Sprint(one))
	}
	text := fmt.Sprint(value)
	hint := ""
	if near := request.Nearest(text, words); near != "" {
		hint = fmt.Sprintf("; did you mean %s?", near)
	}
	last := len(words) - 1
	return faultAt(at, "%q must be %s%s", short(text), strings.TrimPrefix(strings.Join(words[:last], ", ")+" or "+words[last], " or "), hint)
}

func (s *schema) checkList(list []any, at path) *fault {
	switch {
	case s.MaxItems != nil && len(list) > *s.MaxItems:
		return faultAt(at, "has %d items; at most %d are allowed", len(list), *s.MaxItems)
	case s.MinItems != nil && len(list) < *s.MinItems:
		return faultAt(at, "has %d items; at least %d are required", len(list), *s.MinItems)
	case s.Items == nil:
		return nil
	}
	for i, one := range list {
		if f := s.Items.check(one, at.plus(i)); f != nil {
			return f
		}
	}
	return s.checkUnique(list, at)
}

// checkUnique refuses an item that is there twice.
func (s *schema) checkUnique(list []any, at path) *fault {
	seen := map[string]bool{}
	for i, one := range list {
		var key []any
		where := at.plus(i)
		switch s.ListType {
		case "set":
			key = []any{one}
		case "map":
			object := one.(map[string]any)
			for _, name := range s.ListMapKeys {
				key, where = append(key, object[name]), at.plus(i, name)
			}
		default:
			return nil
		}
		text := fmt.Sprint(key...)
		if seen[text] {
			return faultAt(where, "%q is there twice", short(text))
		}
		seen[text] = true
	}
	return nil
}

func (s *schema) checkObject(object map[string]any, at path) *fault {
	if s.MaxProperties != nil && len(object) > *s.MaxProperties {
		return faultAt(at, "has %d entries; at most %d are allowed", len(object), *s.MaxProperties)
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		below := s.Properties[name]
		switch {
		case below != nil && object[name] == nil && !below.Nullable && !slices.Contains(s.Required, name):
			delete(object, name) // the API server reads it as absent
			continue
		case below != nil:
		case s.AdditionalProperties != nil && object[name] == nil:
			continue
		case s.AdditionalProperties != nil:
			below = s.AdditionalProperties
		case s.PreserveUnknown:
			continue
		default:
			return s.unknown(name, at)
		}
		if f := below.check(object[name], at.plus(name)); f != nil {
			return f
		}
	}
	for name, below := range s.Properties {
		if _, given := object[name]; !given && below.Default != nil {
			object[name] = below.Default
		}
	}
	for _, name := range s.Required {
		if _, given := object[name]; !given {
			f := faultAt(at.plus(name), "is missing")
			f.missing = true
			return f
		}
	}
	return nil
}

// unknown is the fault of a field that an object does not have.
func (s *schema) unknown(name string, at path) *fault {
	f := faultAt(at.plus(name), "unknown field %q", at.plus(name).String())
	f.unknown = true
	if near := request.Nearest(name, slices.Collect(maps.Keys(s.Properties))); near != "" {
		f.hint = fmt.Sprintf("did you mean %s?", near)
	}
	return f
}
