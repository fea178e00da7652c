package request

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

// Freeze is a request for a freeze: the arguments of `kubectl upgrade freeze`.
type Freeze struct {
	Name         string // empty: one is made of Start
	Start, End   time.Time
	Reason       string
	Upgrades     []v1alpha1.UpgradeType  // none: all
	NodeSelector *v1alpha1.LabelSelector // nil: every node
	TimeZone     string                  // in which people read about it
}

// Object returns the MaintenanceSchedule to create for the freeze.
func (f Freeze) Object() (*v1alpha1.MaintenanceSchedule, error) {
	if f.Name != "" {
		if err := CheckName(f.Name); err != nil {
			return nil, fmt.Errorf("NAME %w", err)
		}
	}
	start := f.Start.UTC().Truncate(time.Second)
	return &v1alpha1.MaintenanceSchedule{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "MaintenanceSchedule"},
		ObjectMeta: metav1.ObjectMeta{Name: cmp.Or(f.Name, "freeze-"+start.Format("20060102-1504"))},
		Spec: v1alpha1.MaintenanceScheduleSpec{
			TimeZone: f.TimeZone, NodeSelector: f.NodeSelector,
			MaintenanceExclusions: []v1alpha1.MaintenanceExclusion{{
				Period:       v1alpha1.Period{Name: "freeze", StartTime: metav1.NewTime(start), EndTime: metav1.NewTime(roundUp(f.End))},
				Comment:      strings.TrimSpace(f.Reason),
				UpgradeTypes: f.Upgrades,
			}},
		},
	}, nil
}

// AllButCertificates are the types of upgrade that a freeze blocks unless it is asked for others: a cluster whose
// certificates expire is lost.
func AllButCertificates() []v1alpha1.UpgradeType {
	return slices.DeleteFunc(slices.Clone(v1alpha1.UpgradeTypes), func(t v1alpha1.UpgradeType) bool { return t == v1alpha1.TypeCertificates })
}

// roundUp returns t in whole seconds, as the API keeps it: a freeze ends no earlier
// than requested.
func roundUp(t time.Time) time.Time {
	return t.Add(time.Second - time.Nanosecond).UTC().Truncate(time.Second)
}

// FreezeToEnd returns the freeze that `kubectl upgrade unfreeze NAME` means; without
// a name the only one that is not over. Where there are several, it returns them all
// and an error; where there is none, nothing.
func FreezeToEnd(schedules []v1alpha1.MaintenanceSchedule, name string, now time.Time) ([]v1alpha1.MaintenanceSchedule, error) {
	freezes := slices.DeleteFunc(slices.Clone(schedules), func(s v1alpha1.MaintenanceSchedule) bool {
		return s.Name != name && (name != "" || !IsFreeze(s) || isOver(s, now))
	})
	switch {
	case name != "" && len(freezes) == 0:
		return nil, fmt.Errorf("there is no freeze %q; `kubectl upgrade unfreeze` lists them", name)
	case name != "" && !IsFreeze(freezes[0]):
		return nil, fmt.Errorf("MaintenanceSchedule %s is no freeze, it has windows: `kubectl edit maintenanceschedule %s` changes it", name, name)
	case len(freezes) > 1:
		return freezes, fmt.Errorf("there are %d freezes: say which, as in `kubectl upgrade unfreeze %s`", len(freezes), freezes[0].Name)
	case len(freezes) == 0:
		return nil, nil
	}
	if owner := GitOwner(&freezes[0]); owner != "" {
		return nil, fmt.Errorf("%s owns freeze %s and would bring it back: delete it there", owner, freezes[0].Name)
	}
	return freezes, nil
}

// FreezesBeside returns the freezes that stay once that one is ended, and are not over.
func FreezesBeside(schedules []v1alpha1.MaintenanceSchedule, name string, now time.Time) []v1alpha1.MaintenanceSchedule {
	return slices.DeleteFunc(slices.Clone(schedules), func(s v1alpha1.MaintenanceSchedule) bool {
		return s.Name == name || !IsFreeze(s) || isOver(s, now)
	})
}

// IsFreeze reports whether a schedule has exclusions and no window.
func IsFreeze(s v1alpha1.MaintenanceSchedule) bool {
	return len(s.Spec.MaintenanceWindows) == 0 && len(s.Spec.MaintenanceExclusions) > 0
}

// EndExclusion returns the command that ends what a schedule excludes.
func EndExclusion(s *v1alpha1.MaintenanceSchedule) string {
	if IsFreeze(*s) {
		return "kubectl upgrade unfreeze " + s.Name
	}
	return "kubectl edit maintenanceschedule " + s.Name
}

// endExclusions returns the commands that end what excludes nodes with these labels at that instant.
func endExclusions(schedules []v1alpha1.MaintenanceSchedule, labels map[string]string, kind v1alpha1.UpgradeType, at time.Time) string {
	var commands []string
	for i := range schedules {
		if schedule.NewMoment(schedules[i:i+1], at).IgnoringWindows(labels, kind).Reason == v1alpha1.ReasonExcluded {
			commands = append(commands, "`"+EndExclusion(&schedules[i])+"`")
		}
	}
	return strings.Join(commands, " and ")
}

// isOver reports whether none of a freeze's exclusions can hold again.
func isOver(s v1alpha1.MaintenanceSchedule, now time.Time) bool {
	return !slices.ContainsFunc(s.Spec.MaintenanceExclusions, func(x v1alpha1.MaintenanceExclusion) bool { return !ExclusionOver(x, now) })
}

// ExclusionOver reports whether the exclusion cannot hold again.
func ExclusionOver(x v1alpha1.MaintenanceExclusion, now time.Time) bool {
	return x.Recurrence == "" && !x.EndTime.After(now)
}
