package cli

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

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
