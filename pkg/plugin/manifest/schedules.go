package manifest

import (
	"errors"
	"fmt"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/request"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

// Schedule is a MaintenanceSchedule of a file.
type Schedule struct {
	Object Object
	Value  v1alpha1.MaintenanceSchedule
}

// Schedules returns the MaintenanceSchedules of a file, and skips other kinds. It does not check
// their rules, which costs more: Check does.
func Schedules(text []byte) ([]Schedule, error) {
	objects, err := Read(text)
	if err != nil {
		return nil, err
	}
	var all []Schedule
	for _, o := range objects {
		if o.Kind != "MaintenanceSchedule" {
			continue
		}
		s := Schedule{Object: o}
		if err := o.Decode(&s.Value); err != nil {
			return nil, err
		}
		if err := s.checkNames(); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// Check returns what is wrong with the zone, the selector, the times and the rules.
func (s Schedule) Check() error {
	err := schedule.Check(&s.Value)
	var problem *schedule.Problem
	if errors.As(err, &problem) {
		return s.Object.Problem("spec."+problem.Field, errors.New(problem.Message))
	}
	return err
}

// checkNames returns what is wrong with the object's metadata, and with the names of its windows
// and exclusions.
func (s Schedule) checkNames() error {
	if s.Value.Name == "" {
		return s.Object.Problem("metadata.name", errors.New("is missing"))
	}
	if err := request.CheckName(s.Value.Name); err != nil {
		return s.Object.Problem("metadata.name", err)
	}
	meta := s.Value.ObjectMeta
	meta.Namespace = "" // the API server removes it
	for _, err := range apivalidation.ValidateObjectMeta(&meta, false, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata")) {
		return s.Object.Problem(err.Field, errors.New(err.Detail))
	}
	for i, w := range s.Value.Spec.MaintenanceWindows {
		if err := request.CheckPeriodName(w.Name); err != nil {
			return s.Object.Problem(fmt.Sprintf("spec.maintenanceWindows[%d].name", i), err)
		}
	}
	for i, x := range s.Value.Spec.MaintenanceExclusions {
		if err := request.CheckPeriodName(x.Name); err != nil {
			return s.Object.Problem(fmt.Sprintf("spec.maintenanceExclusions[%d].name", i), err)
		}
	}
	return nil
}
