package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// Verify returns why the API server would refuse an object of ours that a verb has made: it may be
// printed, and not sent. Rules in CEL are checked of a MaintenanceSchedule only.
func Verify(object runtime.Object) error {
	text, err := json.Marshal(object)
	if err != nil {
		return err
	}
	objects, err := Read(text)
	if err == nil && objects[0].Kind == "MaintenanceSchedule" {
		var found []Schedule
		if found, err = Schedules(text); err == nil {
			err = found[0].Check()
		}
	} else if err == nil {
		err = objects[0].Decode(object.DeepCopyObject())
	}
	var problem *Problem
	if errors.As(err, &problem) { // its line is that of a file
		return fmt.Errorf("%s would be invalid: %s", object.GetObjectKind().GroupVersionKind().Kind, strings.TrimPrefix(problem.Field+": "+problem.Message, ": "))
	}
	return err
}
