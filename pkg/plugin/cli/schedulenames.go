package cli

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/request"
)

// checkScheduleNames returns an error for names that the API server would refuse.
// schedule.Check checks the rest.
func checkScheduleNames(s v1alpha1.MaintenanceSchedule) error {
	if s.Name == "" {
		return errors.New("a MaintenanceSchedule without metadata.name")
	}
	if err := request.CheckName(s.Name); err != nil {
		return fmt.Errorf("metadata.name: %w", err)
	}
	var windows, exclusions []string
	for _, w := range s.Spec.MaintenanceWindows {
		windows = append(windows, w.Name)
	}
	for _, x := range s.Spec.MaintenanceExclusions {
		exclusions = append(exclusions, x.Name)
	}
	if err := checkNames("spec.maintenanceWindows", windows); err != nil {
		return fmt.Errorf("schedule %s: %w", s.Name, err)
	}
	if err := checkNames("spec.maintenanceExclusions", exclusions); err != nil {
		return fmt.Errorf("schedule %s: %w", s.Name, err)
	}
	return nil
}

// periodName is the API's pattern for the name of a window or exclusion.
var periodName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$`)

func checkNames(field string, names []string) error {
	for i, name := range names {
		switch {
		case !periodName.MatchString(name):
			return fmt.Errorf("%s[%d].name: %q must be of %s", field, i, name, request.NameRule(63))
		case slices.Contains(names[:i], name):
			return fmt.Errorf("%s[%d].name: %q is there twice", field, i, name)
		}
	}
	return nil
}

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
