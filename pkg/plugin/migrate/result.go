package migrate

import (
	"fmt"

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
