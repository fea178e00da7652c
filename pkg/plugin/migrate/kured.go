package migrate

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Kured is kured as it runs on a cluster.
type Kured struct {
	Container
	Placement
	// ScheduleName is the name of the MaintenanceSchedule.
	ScheduleName string
	// Whole puts a window over midnight on the day on which it begins, which is what people
	// usually mean. Otherwise the schedule is open exactly when kured's window is.
	Whole bool
	Now   time.Time
}

// kured is what FromKured makes from the flags.
type kured struct {
	Kured
	Result
	commandLine
}

// FromKured returns what kured's settings become.
func FromKured(in Kured) Result {
	k := &kured{Kured: in, Result: Result{Program: "kured"}, commandLine: in.kuredFlags()}
	k.Policy.Automatic = []v1alpha1.AutomaticUpgrade{{Type: v1alpha1.TypeReboot}}
	k.Rows = append(k.Rows, Row{
		Setting: "kured itself", Value: "reboots nodes that ask", Matters: true, Becomes: "automatic: [{type: Reboot}]",
		Note: "add {type: Patch} for patches of Kubernetes",
	})
	k.schedule()
	for _, flag := range kuredFlags {
		s := k.settings[flag.name]
		row := flag.row(s)
		switch {
		case s.unread != "" && flag.becomes == nil:
			row.Value, row.Set = "?", flag.meaning != NotNeeded
		case s.unread != "":
			row.Value, row.Note = "?", fmt.Sprintf("the value is %s, and was not read", s.unread)
			row.Meaning, row.Becomes = None, ""
		case s.problem != "":
			row.Meaning, row.Becomes, row.Note = None, "", s.problem+": kured does not start with it"
		case flag.becomes != nil:
			flag.becomes(k, &row, s)
		}
		k.Rows = append(k.Rows, row)
	}
	k.builtIn()
	k.placement(k.Placement)
	for _, problem := range k.problems {
		k.Rows = append(k.Rows, Row{Setting: "command line", Value: "?", Set: true, Meaning: None, Note: problem})
	}
	for i, row := range k.Rows {
		k.Rows[i].Meaning = cmp.Or(row.Meaning, Same)
	}
	return k.Result
}

// sentinel compares the file with the one that agents read.
func (k *kured) sentinel(row *Row, s setting) {
	row.Matters = true
	file := path.Clean(s.value())
	for _, mounted := range slices.SortedFunc(maps.Keys(k.HostPaths), func(a, b string) int { return cmp.Compare(len(b), len(a)) }) {
		if rest, below := strings.CutPrefix(file, path.Clean(mounted)+"/"); below {
			file = path.Join(k.HostPaths[mounted], rest)
			break
		}
	}
	file = strings.Replace(file, "/var/run/", "/run/", 1)
	switch {
	case k.settings["reboot-sentinel-command"].value() != "":
		row.Meaning, row.Note = NotNeeded, "kured does not read it either, because of --reboot-sentinel-command"
	case file == "/run/reboot-required":
		row.Becomes, row.Note = "/run/reboot-required", "the path is fixed; update_engine's own state counts, too"
	default:
		row.Meaning, row.Becomes = Nearest, "/run/reboot-required"
		row.Note = fmt.Sprintf("the path is fixed: let what creates %s create this one", file)
	}
}
