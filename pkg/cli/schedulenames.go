package cli

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// checkScheduleNames returns an error for names that the API server would refuse.
// schedule.Check checks the rest.
func checkScheduleNames(s v1alpha1.MaintenanceSchedule) error {
	if s.Name == "" {
		return errors.New("a MaintenanceSchedule without metadata.name")
	}
	if problems := validation.IsDNS1123Subdomain(s.Name); len(problems) > 0 {
		return fmt.Errorf("metadata.name %q: %s", s.Name, problems[0])
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
			return fmt.Errorf("%s[%d].name: %q must be of up to 63 lower-case letters, digits, '-' and '.', and begin and end with a letter or digit", field, i, name)
		case slices.Contains(names[:i], name):
			return fmt.Errorf("%s[%d].name: %q is there twice", field, i, name)
		}
	}
	return nil
}
