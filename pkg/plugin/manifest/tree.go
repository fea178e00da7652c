package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// path leads from an object to one of its values: names of fields (string) and numbers of items
// (int).
type path []any

// plus returns the path to a value below.
func (p path) plus(step ...any) path { return append(p[:len(p):len(p)], step...) }

// plainName matches names that a path shows as they are.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func (p path) String() string {
	text := ""
	for _, step := range p {
		name, isField := step.(string)
		switch {
		case !isField:
			text += fmt.Sprintf("[%d]", step)
		case !plainName.MatchString(name):
			text += fmt.Sprintf("[%q]", name)
		case text == "":
			text = name
		default:
			text += "." + name
		}
	}
	return text
}

// fields returns the names in the path, without the numbers of items.
func (p path) fields() (names []string) {
	for _, step := range p {
		if name, is := step.(string); is {
			names = append(names, name)
		}
	}
	return names
}

// fieldPath matches one step of a path that another package wrote, such as spec.windows[0].
var fieldPath = regexp.MustCompile(`([^.\[\]]+)|\[(\d+)\]`)

// parsePath reads a path whose names have no dots.
func parsePath(text string) (p path) {
	for _, step := range fieldPath.FindAllStringSubmatch(text, -1) {
		if i, err := strconv.Atoi(step[2]); err == nil {
			p = append(p, i)
		} else {
			p = append(p, step[1])
		}
	}
	return p
}

// tree returns the document as nodes with their lines. Nil: that is not known.
func (d *document) tree() *yaml.Node {
	if !d.parsed {
		d.parsed, d.root = true, d.parse()
	}
	return d.root
}

func (d *document) parse() *yaml.Node {
	if d.isJSON {
		decoder := json.NewDecoder(bytes.NewReader(d.text))
		decoder.UseNumber()
		b := jsonTree{decoder: decoder, lineOf: (&document{line: 1, text: d.text}).lines()}
		node, err := b.value()
		if err != nil {
			return nil
		}
		return node
	}
	var node yaml.Node
	if err := yaml.Unmarshal(d.text, &node); err != nil || len(node.Content) == 0 {
		return nil
	}
	return node.Content[0]
}

// jsonTree makes nodes of JSON, which YAML's parser does not read in every case: it refuses
// escaped characters beyond the basic plane.
type jsonTree struct {
	decoder *json.Decoder
	lineOf  func(int) int
}

// value reads one value.
func (b *jsonTree) value() (*yaml.Node, error) {
	token, err := b.decoder.Token()
	if err != nil {
		return nil, err
	}
	node := &yaml.Node{Kind: yaml.ScalarNode, Line: b.lineOf(int(b.decoder.InputOffset()) - 1)}
	bracket, isBracket := token.(json.Delim)
	if !isBracket {
		node.Value, node.Style = fmt.Sprint(token), yaml.DoubleQuotedStyle
		return node, nil
	}
	node.Kind = yaml.SequenceNode
	if bracket == '{' {
		node.Kind = yaml.MappingNode
	}
	for b.decoder.More() {
		child, err := b.value()
		if err != nil {
			return nil, err
		}
		node.Content = append(node.Content, child)
	}
	_, err = b.decoder.Token() // the closing bracket
	return node, err
}

// locate returns the line in the tree, and the value at the path. Where a part of the path is
// missing, the line is that of the object which lacks it, and the value is nil.
func locate(root *yaml.Node, p path) (line int, value *yaml.Node) {
	if root == nil {
		return 1, nil
	}
	line, value = root.Line, root
	for _, step := range p {
		key, next := child(value, step)
		if next == nil {
			return line, nil
		}
		line, value = key.Line, next
	}
	return line, value
}

// child returns the value of a field with its key, or an item.
func child(node *yaml.Node, step any) (key, value *yaml.Node) {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	switch step := step.(type) {
	case int:
		if node.Kind == yaml.SequenceNode && step < len(node.Content) {
			return node.Content[step], node.Content[step]
		}
	case string:
		if node.Kind != yaml.MappingNode {
			return nil, nil
		}
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == step {
				key, value = node.Content[i], node.Content[i+1] // the last counts
			}
		}
		for i := 0; value == nil && i+1 < len(node.Content); i += 2 {
			if node.Content[i].Tag == "!!merge" {
				key, value = merged(node.Content[i+1], step)
			}
		}
	}
	return key, value
}

// merged returns a field of what the value of << names: an object, or several.
func merged(node *yaml.Node, step string) (key, value *yaml.Node) {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	if node.Kind != yaml.SequenceNode {
		return child(node, step)
	}
	for _, one := range node.Content {
		if key, value = child(one, step); value != nil {
			return key, value
		}
	}
	return nil, nil
}

// repeated returns the path to the first field that is there twice, in the node or below. Nil:
// there is none.
func repeated(node *yaml.Node, at path) (path, int) {
	seen := map[string]bool{}
	for i, one := range node.Content {
		below := at.plus(i)
		if node.Kind == yaml.MappingNode {
			if i%2 == 0 {
				continue
			}
			key := node.Content[i-1]
			below = at.plus(key.Value)
			if seen[key.Value] && key.Tag != "!!merge" {
				return below, key.Line
			}
			seen[key.Value] = true
		}
		if found, line := repeated(one, below); found != nil {
			return found, line
		}
	}
	return nil, 0
}
