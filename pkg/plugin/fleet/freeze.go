package fleet

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/request"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

// FreezeState says what a command about a freeze has reached in a cluster.
type FreezeState string

// The states of a freeze in a cluster.
const (
	Frozen        FreezeState = "Frozen"        // the coordinator says so
	AlreadyFrozen FreezeState = "AlreadyFrozen" // the same freeze was there before
	NotConfirmed  FreezeState = "NotConfirmed"  // asked for, and its coordinator has not said that it holds
	NotFrozen     FreezeState = "NotFrozen"
	Unfrozen      FreezeState = "Unfrozen"    // the freeze was deleted
	NoFreeze      FreezeState = "NoFreeze"    // there was none of that name
	StillFrozen   FreezeState = "StillFrozen" // it could not be deleted
	NotKnown      FreezeState = "NotKnown"    // whether it was deleted
)

// Done reports whether the cluster is as the command was to make it.
func (s FreezeState) Done() bool {
	return s == Frozen || s == AlreadyFrozen || s == Unfrozen || s == NoFreeze
}

// Freezes is what a command about a freeze has reached. Its JSON is a shape that scripts may rely on.
type Freezes struct {
	APIVersion string      `json:"apiVersion"`
	Kind       string      `json:"kind"`
	Name       string      `json:"name"`
	Until      *time.Time  `json:"until,omitempty"`
	Items      []FreezeRow `json:"items"`
}

// FreezeRow is what it has reached in a cluster.
type FreezeRow struct {
	Cluster
	State   FreezeState     `json:"state"`
	Reason  v1alpha1.Reason `json:"reason,omitempty"`
	Message string          `json:"message,omitempty"`
	// Since is from when on the freeze holds, by its exclusion, and Until is its end.
	Since *time.Time `json:"since,omitempty"`
	Until *time.Time `json:"until,omitempty"`
}

// NewFreezes returns the result of a command about the freeze of that name.
func NewFreezes(name string, rows []FreezeRow) Freezes {
	return Freezes{APIVersion: v1alpha1.OutputVersion, Kind: "FleetFreeze", Name: name, Items: rows}
}

// Failed returns the contexts in which the freeze is not as it was to be.
func (f Freezes) Failed() (names []string) {
	for _, r := range f.Items {
		if !r.State.Done() && !r.Repeated {
			names = append(names, r.Context)
		}
	}
	return names
}

// Holds returns the contexts in which the freeze of the fleet exists.
func (f Freezes) Holds() (names []string) {
	for _, r := range f.Items {
		if (r.State == Frozen || r.State == AlreadyFrozen || r.State == NotConfirmed || r.State == StillFrozen) && !r.Repeated {
			names = append(names, r.Context)
		}
	}
	return names
}

// Asked counts the clusters.
func (f Freezes) Asked() (count int) {
	for _, r := range f.Items {
		if !r.Repeated {
			count++
		}
	}
	return count
}

// IsFleets reports whether `kubectl upgrade fleet freeze` made the freeze.
func IsFleets(s v1alpha1.MaintenanceSchedule) bool {
	return request.IsFreeze(s) && s.Annotations[v1alpha1.FleetFreezeAnnotation] != ""
}

// Covers returns why a schedule that exists is not the freeze that is asked for. Empty: it holds for
// everything that is asked for, and no shorter.
func Covers(there, asked v1alpha1.MaintenanceSchedule, now time.Time) string {
	if !request.IsFreeze(there) {
		return "it has windows, and is no freeze"
	}
	want := asked.Spec.MaintenanceExclusions[0]
	if !sameSelector(there.Spec.NodeSelector, asked.Spec.NodeSelector) && there.Spec.NodeSelector != nil {
		return "it is for other nodes"
	}
	i := slices.IndexFunc(there.Spec.MaintenanceExclusions, func(x v1alpha1.MaintenanceExclusion) bool {
		return x.Recurrence == "" && !x.StartTime.After(now) && x.EndTime.After(now)
	})
	if i < 0 {
		return "it does not hold now"
	}
	x := there.Spec.MaintenanceExclusions[i]
	if left := leftOut(x.UpgradeTypes, want.UpgradeTypes); left != nil {
		return fmt.Sprintf("it is not for upgrades of type %s", view.TypesText(left))
	}
	if x.EndTime.Time.Before(want.EndTime.Time) {
		return "it ends at " + x.EndTime.UTC().Format(time.RFC3339)
	}
	return ""
}

// leftOut returns the types of upgrade that are asked for and that an exclusion is not for. None stands for all.
func leftOut(there, asked []v1alpha1.UpgradeType) []v1alpha1.UpgradeType {
	if len(there) == 0 {
		return nil
	}
	if len(asked) == 0 {
		asked = v1alpha1.UpgradeTypes
	}
	var left []v1alpha1.UpgradeType
	for _, t := range asked {
		if !slices.Contains(there, t) {
			left = append(left, t)
		}
	}
	return left
}

// StopsCertificates reports whether an exclusion of the schedule stops the renewal of certificates.
func StopsCertificates(s v1alpha1.MaintenanceSchedule) bool {
	return slices.ContainsFunc(s.Spec.MaintenanceExclusions, func(x v1alpha1.MaintenanceExclusion) bool {
		return len(x.UpgradeTypes) == 0 || slices.Contains(x.UpgradeTypes, v1alpha1.TypeCertificates)
	})
}

func sameSelector(a, b *v1alpha1.LabelSelector) bool {
	return view.SelectorText(a) == view.SelectorText(b)
}

// OtherFreezes returns the freezes that hold now, each with its reason and who made it, but for the one of that name.
func OtherFreezes(schedules []v1alpha1.MaintenanceSchedule, name string, now time.Time) (names []string) {
	for _, f := range view.NewFreezes(slices.DeleteFunc(slices.Clone(schedules), func(s v1alpha1.MaintenanceSchedule) bool { return s.Name == name || !request.IsFreeze(s) }), now) {
		if !f.From.After(now) {
			names = append(names, f.Name+" ("+strings.Join(slices.DeleteFunc([]string{f.Reason, f.By}, func(text string) bool { return text == "" }), ", by ")+")")
		}
	}
	return slices.Compact(names)
}

// CurrentFreezes returns the names of the fleet's freezes that are not over.
func CurrentFreezes(schedules []v1alpha1.MaintenanceSchedule, now time.Time) (names []string) {
	for _, s := range schedules {
		if IsFleets(s) && len(view.NewFreezes([]v1alpha1.MaintenanceSchedule{s}, now)) > 0 {
			names = append(names, s.Name)
		}
	}
	return names
}

// Quote returns the word as a shell reads it.
func Quote(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:@,=+", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
