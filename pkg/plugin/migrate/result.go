package migrate

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/former"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Meaning is how close the counterpart of a setting is.
type Meaning string

// The meanings.
const (
	Same      Meaning = "same"       // the counterpart does the same
	Nearest   Meaning = "nearest"    // it does something similar: the note says what differs
	NotNeeded Meaning = "not needed" // there is nothing to configure
	None      Meaning = "none"       // there is no counterpart: the note says why
)

// Row is one setting of the other program.
type Row struct {
	// Setting is the flag, or another property of the program.
	Setting string
	Value   string
	// Set reports whether a person has set it. Others have the program's default.
	Set bool
	// Matters reports whether the default is worth reading, too.
	Matters bool
	Meaning Meaning
	// Becomes is what to write instead. Empty: nothing.
	Becomes string
	// Note is one sentence on what differs, or why there is no counterpart.
	Note string
}

// Result is what the settings of a program become.
type Result struct {
	// Program is kured, FLUO or timer.
	Program string
	Rows    []Row
	// Notes are what people often do not expect of the other program, one sentence each.
	Notes []string
	// Schedule has the same windows. Nil: the program has none.
	Schedule *v1alpha1.MaintenanceSchedule
	// Policy are the fields that differ from the UpgradePolicy's defaults. The mode is empty.
	Policy v1alpha1.UpgradePolicySpec
	// NodesChosen reports whether a person has chosen the nodes to manage: Policy.NodeSelector
	// counts then also where it is nil, for every node.
	NodesChosen bool
	// Window is when the other program may reboot a node. Nil: at any time, or never.
	Window Window
}

// note adds a sentence about the program.
func (r *Result) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// Fields are the fields of the UpgradePolicy that a changeover sets.
type Fields struct {
	Mode         v1alpha1.ManagementMode     `json:"mode,omitempty"`
	Automatic    []v1alpha1.AutomaticUpgrade `json:"automatic,omitempty"`
	Strategy     v1alpha1.Strategy           `json:"strategy,omitzero"`
	NodeSelector *v1alpha1.LabelSelector     `json:"nodeSelector,omitempty"`
	Gates        []v1alpha1.Gate             `json:"gates,omitempty"`
	Notices      []v1alpha1.Notice           `json:"notices,omitempty"`
}

func fieldsOf(spec v1alpha1.UpgradePolicySpec) Fields {
	return Fields{spec.Mode, spec.Automatic, spec.Strategy, spec.NodeSelector, spec.Gates, spec.Notices}
}

// Record is what a changeover did, to undo it. It is kept on the UpgradePolicy.
type Record struct {
	// Program is the one that was paused.
	Program string `json:"program"`
	// Schedule is the name of the MaintenanceSchedule that was created.
	Schedule string `json:"schedule,omitempty"`
	// Before and After are the UpgradePolicy's fields.
	Before Fields `json:"before"`
	After  Fields `json:"after"`
}

// NewRecord returns the record of a changeover to what the result says. Fields that it does
// not set stay as they are.
func NewRecord(r Result, spec v1alpha1.UpgradePolicySpec) (Record, error) {
	record := Record{Program: r.Program, Before: fieldsOf(spec)}
	if r.Schedule != nil {
		record.Schedule = r.Schedule.Name
	}
	after := fieldsOf(*spec.DeepCopy())
	after.Mode = v1alpha1.ModeManage
	for _, wanted := range r.Policy.Automatic {
		if !slices.ContainsFunc(after.Automatic, func(a v1alpha1.AutomaticUpgrade) bool { return a.Type == wanted.Type }) {
			after.Automatic = append(after.Automatic, wanted)
		}
	}
	strategy, err := json.Marshal(r.Policy.Strategy)
	if err != nil {
		return record, err
	}
	rules := after.Strategy.Drain.Rules
	if err := json.Unmarshal(strategy, &after.Strategy); err != nil { // sets the fields that are there
		return record, err
	}
	after.Strategy.Drain.Rules = withOthers(r.Policy.Strategy.Drain.Rules, rules, func(r v1alpha1.DrainRule) string { return r.Name })
	after.Gates = withOthers(r.Policy.Gates, after.Gates, func(g v1alpha1.Gate) string { return g.Name })
	after.Notices = withOthers(r.Policy.Notices, after.Notices, func(n v1alpha1.Notice) string { return n.Name })
	if r.Policy.NodeSelector != nil || r.NodesChosen {
		after.NodeSelector = r.Policy.NodeSelector
	}
	record.After = after
	return record, nil
}

// withOthers returns the list, and then those of the others that have other names.
func withOthers[T any](list, others []T, name func(T) string) []T {
	all := slices.Clone(list)
	for _, other := range others {
		if !slices.ContainsFunc(all, func(one T) bool { return name(one) == name(other) }) {
			all = append(all, other)
		}
	}
	return all
}

// ParseRecord reads a record, which a former version may have written.
func ParseRecord(text string) (r Record, err error) {
	var stored map[string]any
	if err = json.Unmarshal([]byte(text), &stored); err == nil {
		for _, fields := range []string{"before", "after"} {
			former.Convert(map[string]any{"apiVersion": v1alpha1.GroupVersion.String(), "kind": "UpgradePolicy", "spec": stored[fields]})
		}
		err = convert(stored, &r)
	}
	if err != nil {
		return r, fmt.Errorf("the record of the changeover cannot be read: %w", err)
	}
	return r, nil
}

// convert reads what is in a map as JSON is.
func convert(from map[string]any, into any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// String returns the record as JSON.
func (r Record) String() string {
	text, _ := json.Marshal(r) // of types that always can be
	return string(text)
}

// Prepare sets the fields that have no effect while the mode is Observe.
func (r Record) Prepare(spec *v1alpha1.UpgradePolicySpec) {
	spec.Strategy, spec.NodeSelector = r.After.Strategy, r.After.NodeSelector
	spec.Gates, spec.Notices = r.After.Gates, r.After.Notices
}

// Start sets all fields.
func (r Record) Start(spec *v1alpha1.UpgradePolicySpec) {
	r.Prepare(spec)
	spec.Automatic, spec.Mode = r.After.Automatic, r.After.Mode
}

// Stop sets the mode and the nodes as they were, so that the agents of all other nodes give them
// back.
func (r Record) Stop(spec *v1alpha1.UpgradePolicySpec) {
	if spec.Mode = r.Before.Mode; spec.Mode == v1alpha1.ModeManage {
		spec.NodeSelector = r.Before.NodeSelector
	}
}

// Keeps reports whether a node with these labels stays managed when the changeover is undone.
func (r Record) Keeps(nodeLabels map[string]string) (bool, error) {
	switch {
	case r.Before.Mode != v1alpha1.ModeManage:
		return false, nil
	case r.Before.NodeSelector == nil:
		return true, nil
	}
	selector, err := r.Before.NodeSelector.AsSelector()
	return err == nil && selector.Matches(labels.Set(nodeLabels)), err
}

// Restore sets the fields as they were. It returns the names of those that were changed since,
// and leaves them as they are.
func (r Record) Restore(spec *v1alpha1.UpgradePolicySpec) (changed []string) {
	r.Stop(spec)
	put := func(name string, now, before, after any, set func()) {
		switch {
		case same(now, after), same(now, before):
			set()
		default:
			changed = append(changed, name)
		}
	}
	put("automatic", spec.Automatic, r.Before.Automatic, r.After.Automatic, func() { spec.Automatic = r.Before.Automatic })
	put("strategy", spec.Strategy, r.Before.Strategy, r.After.Strategy, func() { spec.Strategy = r.Before.Strategy })
	put("nodeSelector", spec.NodeSelector, r.Before.NodeSelector, r.After.NodeSelector, func() { spec.NodeSelector = r.Before.NodeSelector })
	put("gates", spec.Gates, r.Before.Gates, r.After.Gates, func() { spec.Gates = r.Before.Gates })
	put("notices", spec.Notices, r.Before.Notices, r.After.Notices, func() { spec.Notices = r.Before.Notices })
	return changed
}

// same reports whether both are the same as JSON.
func same(a, b any) bool {
	one, errOne := json.Marshal(a)
	two, errTwo := json.Marshal(b)
	return errOne == nil && errTwo == nil && reflect.DeepEqual(one, two)
}

// SameWindows reports whether the schedules have the same windows.
func SameWindows(a, b *v1alpha1.MaintenanceSchedule) bool { return same(a.Spec, b.Spec) }
