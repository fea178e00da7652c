package cover

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Objects are the JSON of the objects of one side of a request. Bootstrap may be empty.
type Objects struct{ Machine, Bootstrap, Infrastructure []byte }

// Answer is what a request changes.
type Answer struct {
	// Machine, Bootstrap and Infrastructure are JSON patches that make the current objects the desired
	// ones but for what is uncovered. Nil: nothing changes.
	Machine, Bootstrap, Infrastructure []byte
	// Uncovered are the fields that change and do not come with the version, such as
	// "KubeadmConfig spec.files[2].content".
	Uncovered []string
}

// Machine compares a Machine, its KubeadmConfig and its machine at the provider.
func Machine(step Step, current, desired Objects) (Answer, error) {
	return compareAll(step, current, desired, "spec")
}

// MachineSet compares a MachineSet, a KubeadmConfigTemplate and the provider's template.
func MachineSet(step Step, current, desired Objects) (Answer, error) {
	return compareAll(step, current, desired, "spec", "template", "spec")
}

func compareAll(step Step, current, desired Objects, root ...string) (Answer, error) {
	var answer Answer
	for _, object := range []struct {
		rules            rules
		current, desired []byte
		patch            *[]byte
	}{
		{machineSpec, current.Machine, desired.Machine, &answer.Machine},
		{kubeadmConfigSpec, current.Bootstrap, desired.Bootstrap, &answer.Bootstrap},
		{infrastructureSpec, current.Infrastructure, desired.Infrastructure, &answer.Infrastructure},
	} {
		if len(object.current) == 0 && len(object.desired) == 0 {
			continue
		}
		c := comparison{step: step, rules: object.rules}
		if err := c.objects(object.current, object.desired, root); err != nil {
			return Answer{}, err
		}
		patch, err := Patch(c.operations)
		if err != nil {
			return Answer{}, fmt.Errorf("encoding the patch of a %s: %w", c.kind, err)
		}
		*object.patch = patch
		answer.Uncovered = append(answer.Uncovered, c.uncovered...)
	}
	return answer, nil
}

// objects compares what two objects have at root.
func (c *comparison) objects(current, desired []byte, root []string) error {
	before, err := decode(current)
	if err != nil {
		return fmt.Errorf("reading a current object of the request: %w", err)
	}
	after, err := decode(desired)
	if err != nil {
		return fmt.Errorf("reading a desired object of the request: %w", err)
	}
	c.kind = kindOf(before, after)
	var at place
	var was, is any = before, after
	for _, key := range root {
		was, is, at = field(was, key), field(is, key), at.child(key)
	}
	if was == nil && is == nil {
		return nil
	}
	if kindBefore, kindAfter := before["kind"], after["kind"]; before != nil && after != nil && kindBefore != kindAfter {
		c.uncovered = append(c.uncovered, fmt.Sprintf("the kind, %s instead of %s", kindOf(after), kindOf(before)))
		return nil
	}
	c.values(at, nil, was, is)
	return nil
}

func kindOf(objects ...map[string]any) string {
	for _, object := range objects {
		if kind, ok := object["kind"].(string); ok && kind != "" {
			return shown(kind)
		}
	}
	return "object"
}

func field(value any, key string) any {
	fields, _ := value.(map[string]any)
	return fields[key]
}

// decode reads an object. Numbers stay as they are written.
func decode(data []byte) (map[string]any, error) {
	if len(data) == 0 {
		return nil, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var object map[string]any
	if err := decoder.Decode(&object); err != nil {
		return nil, err
	}
	return object, nil
}
