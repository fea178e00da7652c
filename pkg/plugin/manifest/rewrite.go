package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/former"
)

// Rewrite returns a file with its objects of earlier versions in today's names and shapes, and a
// line for each change. Comments, order and layout of YAML stay. Without a change, it is the text
// as it was.
func Rewrite(text []byte) (rewritten []byte, changes []string, err error) {
	objects, err := Read(text)
	if err != nil {
		return nil, nil, err
	}
	if text, err = toUTF8(text); err != nil {
		return nil, nil, err
	}
	r := rewriting{lines: bytes.SplitAfter(text, []byte("\n"))}
	var want []map[string]any
	for _, o := range objects {
		want = append(want, o.value)
		for _, c := range former.Convert(o.value) {
			at := o.root.plus(c.Object...)
			if c.Was != "" {
				at = at.plus(c.Was)
			}
			line, _ := locate(o.in.tree(), at)
			changes = append(changes, fmt.Sprintf("line %d: %s", o.in.line+line-1, c))
			if o.in.isJSON || c.ByHand != "" {
				continue
			}
			if err := r.add(o, c); err != nil {
				return nil, nil, err
			}
		}
	}
	switch {
	case len(changes) == 0:
		return text, nil, nil
	case !objects[0].in.isJSON:
		rewritten = r.result()
	case objects[0].in.of > 1:
		return nil, nil, objects[0].problem(faultAt(nil, "a file with several objects of JSON is not rewritten: write them as YAML, or as one List"))
	default:
		if rewritten, err = json.MarshalIndent(objects[0].in.value, "", "  "); err != nil {
			return nil, nil, err
		}
		rewritten = append(rewritten, '\n')
	}
	got, err := Read(rewritten)
	same := err == nil && slices.EqualFunc(got, want, func(o Object, value map[string]any) bool { return reflect.DeepEqual(o.value, value) })
	if !same {
		return nil, nil, fmt.Errorf("it cannot be rewritten by itself, as with anchors or text of several lines; by hand: %s", strings.Join(changes, "; "))
	}
	return rewritten, changes, nil
}

// rewriting is the text of a file, and what is replaced in it.
type rewriting struct {
	lines [][]byte
	edits []edit
}

// edit replaces a part of a line.
type edit struct {
	line, from, to int // from 0; bytes of the line
	text           string
}

// add adds the edits of a change.
func (r *rewriting) add(o Object, c former.Change) error {
	_, parent := locate(o.in.tree(), o.root.plus(c.Object...))
	if parent == nil {
		return o.problem(faultAt(nil, "%s: its place is not known", c))
	}
	if c.Was == "" {
		return r.addField(o, parent, c)
	}
	key, value := child(parent, c.Was)
	if value == nil {
		return o.problem(faultAt(c.Object, "%s: its place is not known", c))
	}
	if c.Was != c.Now {
		if err := r.replace(o, key, func(string) string { return c.Now }); err != nil {
			return err
		}
	}
	switch text, isText := c.Value.(string); {
	case c.ByName:
		return r.replace(o, value, func(was string) string { return "{name: " + was + "}" })
	case isText && value.Kind == yaml.ScalarNode && value.Value != text:
		return r.replace(o, value, func(string) string { return text })
	}
	return nil
}

// addField adds a field after the first one of an object.
func (r *rewriting) addField(o Object, parent *yaml.Node, c former.Change) error {
	if parent.Kind != yaml.MappingNode || len(parent.Content) == 0 {
		return o.problem(faultAt(c.Object, "%s", c))
	}
	first := parent.Content[0]
	between := ", "
	if parent.Style&yaml.FlowStyle == 0 {
		between = "\n" + strings.Repeat(" ", first.Column-1)
	}
	return r.replace(o, first, func(was string) string { return fmt.Sprintf("%s: %v%s%s", c.Now, c.Value, between, was) })
}

// replace replaces a text of one line that a node is.
func (r *rewriting) replace(o Object, node *yaml.Node, by func(was string) string) error {
	line := o.in.line + node.Line - 2
	if line >= len(r.lines) || node.Kind != yaml.ScalarNode {
		return o.at(node.Line, faultAt(nil, "it is no text of one line"))
	}
	from := len(string([]rune(string(r.lines[line]))[:node.Column-1]))
	rest := string(r.lines[line][from:])
	length := scalarLength(rest, node)
	if length == 0 {
		return o.at(node.Line, faultAt(nil, "it is no text of one line"))
	}
	e := edit{line, from, from + length, by(rest[:length])}
	if !slices.Contains(r.edits, e) {
		r.edits = append(r.edits, e)
	}
	return nil
}

// scalarLength returns how many bytes of the text the node is. Zero: it does not end in it.
func scalarLength(text string, node *yaml.Node) int {
	quote := ""
	switch {
	case node.Style&yaml.SingleQuotedStyle != 0:
		quote = "'"
	case node.Style&yaml.DoubleQuotedStyle != 0:
		quote = `"`
	case node.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 && node.Value != "" && strings.HasPrefix(text, node.Value):
		return len(node.Value)
	}
	if quote == "" || !strings.HasPrefix(text, quote) {
		return 0
	}
	for i := 1; i < len(text); i++ {
		switch {
		case quote == `"` && text[i] == '\\', quote == "'" && strings.HasPrefix(text[i:], "''"):
			i++
		case text[i] == quote[0]:
			return i + 1
		}
	}
	return 0
}

// result returns the text with all edits.
func (r *rewriting) result() []byte {
	slices.SortFunc(r.edits, func(a, b edit) int { return (b.line-a.line)*1_000_000 + b.from - a.from })
	for _, e := range r.edits {
		line := r.lines[e.line]
		r.lines[e.line] = slices.Concat(line[:e.from], []byte(e.text), line[e.to:])
	}
	return bytes.Join(r.lines, nil)
}
