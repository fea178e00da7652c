package cover

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Operation is one operation of a JSON patch (RFC 6902).
type Operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// Patch returns a JSON patch, or nil if there is nothing to change.
func Patch(operations []Operation) ([]byte, error) {
	if len(operations) == 0 {
		return nil, nil
	}
	return json.Marshal(operations)
}

// place is where a value is in an object: keys of maps, and indices of lists.
type place []any

func (p place) child(key any) place { return append(slices.Clip(p), key) }

// longestPlace is the length of the longest place that is written. The sender of a request chooses the names
// in it, and how often a long one would be repeated.
const longestPlace = 512

// length is the length of the place, as it is written.
func (p place) length() (n int) {
	for _, key := range p {
		if name, is := key.(string); is {
			n += len(name)
		}
		n++
	}
	return n
}

// pointer returns the place as JSON patches write it (RFC 6901).
func (p place) pointer() string {
	var b strings.Builder
	for _, key := range p {
		b.WriteByte('/')
		switch key := key.(type) {
		case string:
			b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(key))
		case int:
			b.WriteString(strconv.Itoa(key))
		}
	}
	return b.String()
}

// plainName matches names of fields, labels and kinds.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_./-]{1,63}$`)

// shown returns a name that may stand in an event. A caller of the hooks chooses names of fields and kinds, and
// what they write is shown to people: another name is not.
func shown(name string) string {
	if !plainName.MatchString(name) {
		return "*"
	}
	return name
}

// String returns the place as kubectl explain writes it: spec.files[2].content. A name that is no field's or
// label's is an asterisk.
func (p place) String() string {
	if p.length() > longestPlace {
		return "a field with a long name"
	}
	var b strings.Builder
	for _, key := range p {
		switch key := key.(type) {
		case string:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(shown(key))
		case int:
			fmt.Fprintf(&b, "[%d]", key)
		}
	}
	return b.String()
}

// comparison collects the differences of two objects.
type comparison struct {
	kind       string // of the objects, for people
	rules      rules
	step       Step
	operations []Operation
	uncovered  []string
}

// values compares two values that are at a place below the rules' root; below is that place from there.
func (c *comparison) values(at, below place, current, desired any) {
	if reflect.DeepEqual(current, desired) || c.rules.ignores(below) {
		return
	}
	if at.length() > longestPlace {
		c.uncover(at)
		return
	}
	switch current := current.(type) {
	case map[string]any:
		if desired, ok := desired.(map[string]any); ok {
			c.maps(at, below, current, desired)
			return
		}
	case []any:
		if desired, ok := desired.([]any); ok && len(current) == len(desired) {
			for i := range current {
				c.values(at.child(i), below.child(i), current[i], desired[i])
			}
			return
		}
	case string:
		if desired, ok := desired.(string); ok && c.coversText(below, current, desired) {
			c.operations = append(c.operations, Operation{Op: "replace", Path: at.pointer(), Value: desired})
			return
		}
	}
	c.uncover(at)
}

func (c *comparison) coversText(below place, current, desired string) bool {
	if c.rules.isVersion(below) {
		return current == c.step.From.String() && desired == c.step.To.String()
	}
	return c.rules.hasText(below) && c.step.Covers(current, desired)
}

func (c *comparison) maps(at, below place, current, desired map[string]any) {
	keys := maps.Clone(current)
	maps.Copy(keys, desired)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		at, below := at.child(key), below.child(key)
		before, was := current[key]
		after, is := desired[key]
		switch {
		case was && is:
			c.values(at, below, before, after)
		case c.rules.ignores(below):
		case was && c.rules.comesAndGoes(below, before):
			c.operations = append(c.operations, Operation{Op: "remove", Path: at.pointer()})
		case is && c.rules.comesAndGoes(below, after):
			c.operations = append(c.operations, Operation{Op: "add", Path: at.pointer(), Value: after})
		default:
			c.uncover(at)
		}
	}
}

func (c *comparison) uncover(at place) {
	c.uncovered = append(c.uncovered, c.kind+" "+at.String())
}
