package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"

	"go.yaml.in/yaml/v3"
)

// The limits of a file. What has more of either than any file that people write would fill the
// memory.
const (
	maxValues   = 1_000_000
	maxExpanded = 64 << 20 // bytes, with the text of each anchor wherever an alias stands for it
)

// checkSize refuses a file with too many values, before anything is made of them. Whatever separates
// values is one of these characters.
func checkSize(text []byte) error {
	values := 0
	for _, separator := range []string{"\n", ",", ":"} {
		values += bytes.Count(text, []byte(separator))
	}
	if values > maxValues {
		return &Problem{Line: 1, Message: fmt.Sprintf("it has more than %d lines and values: split the file", maxValues)}
	}
	return nil
}

// checkWhole refuses a chunk of YAML of which only a part would be read, and one whose aliases make
// it too large. A text that is no YAML is left to the parser that reads it.
func (d *document) checkWhole() error {
	decoder := yaml.NewDecoder(bytes.NewReader(d.text))
	var first, second yaml.Node
	if decoder.Decode(&first) != nil {
		return nil
	}
	if expanded(&first, map[*yaml.Node]int{}) > maxExpanded {
		return &Problem{Document: 1, Line: d.line, Message: fmt.Sprintf("it is larger than %d MiB with the text of its anchors for each alias", maxExpanded>>20)}
	}
	err := decoder.Decode(&second)
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err == nil:
		return &Problem{Document: 2, Line: d.lineAt(second.Line), Message: "it begins after a line end that YAML knows and others do not, such as a lone carriage return: use line feeds"}
	}
	return &Problem{Document: 1, Line: d.lineAt(lastLine(&first)), Message: "more text follows the end of the document: write a line of --- between documents"}
}

// lineAt returns the line of the file for a line of the chunk, as the parser of YAML counts. It knows
// more ends of lines than others.
func (d *document) lineAt(line int) int {
	return d.line + min(line-1, bytes.Count(bytes.TrimRight(d.text, "\n"), []byte("\n")))
}

// expanded returns how many bytes the node has with the text of each anchor for its aliases. known
// has those of anchors.
func expanded(node *yaml.Node, known map[*yaml.Node]int) int {
	if node.Kind == yaml.AliasNode {
		size, seen := known[node.Alias]
		if !seen {
			known[node.Alias] = 0 // an anchor in itself is refused later
			size = expanded(node.Alias, known)
			known[node.Alias] = size
		}
		return size
	}
	size := len(node.Value) + 1
	for _, one := range node.Content {
		if size += expanded(one, known); size > math.MaxInt/2 {
			return math.MaxInt / 2
		}
	}
	return size
}

// lastLine returns the line in which the last value of the node begins.
func lastLine(node *yaml.Node) int {
	for len(node.Content) > 0 {
		node = node.Content[len(node.Content)-1]
	}
	return node.Line
}
