package cli

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// place is where a field stands in a file.
type place struct {
	field string // such as spec.maintenanceWindows[0].name
	key   string // its last name
	value string // empty unless it is a scalar
	line  int
	node  *yaml.Node
}

// reads reports whether the value without quotes is what encoding/json calls a bool or a number.
func (p place) reads(as string) bool {
	switch as {
	case "bool":
		return p.node.Style == 0 && slices.Contains(yamlBooleans, strings.ToLower(p.value))
	case "number":
		return slices.Contains([]string{"!!int", "!!float"}, p.node.ShortTag())
	}
	return true
}

func (p place) String() string { return fmt.Sprintf("line %d: %s", p.line, p.field) }

// places returns the fields of all YAML or JSON documents in text, in order. It returns those
// before an error of the syntax.
func places(text []byte) []place {
	var all []place
	documents := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var document yaml.Node
		if err := documents.Decode(&document); err != nil {
			return all
		}
		all = addPlaces(all, place{}, &document)
	}
}

// addPlaces adds what is below the node, whose own place is at.
func addPlaces(all []place, at place, node *yaml.Node) []place {
	switch node.Kind {
	case yaml.DocumentNode:
		all = addPlaces(all, at, node.Content[0])
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			key, value := node.Content[i], node.Content[i+1]
			below := place{field: key.Value, key: key.Value, value: value.Value, line: key.Line, node: value}
			if at.field != "" {
				below.field = at.field + "." + key.Value
			}
			all = addPlaces(append(all, below), below, value)
		}
	case yaml.SequenceNode:
		for i, item := range node.Content {
			all = addPlaces(all, place{field: fmt.Sprintf("%s[%d]", at.field, i), key: at.key, line: item.Line, node: item}, item)
		}
	}
	return all
}
