package preflight

import (
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Family is the subject of a group of checks.
type Family struct {
	Title  string
	Checks []Entry
}

// Entry describes a check.
type Entry struct {
	// ID never changes: people write it into spec.ignoreChecks.
	ID string
	Effect
	// About says when it has a finding.
	About string
	// Advice says what to do, where the finding itself gives no advice.
	Advice string
}

// Effect is what the findings of a check do.
type Effect struct {
	// Levels that the findings have.
	Levels []v1alpha1.FindingLevel
	// Mandatory reports whether it does not help to ignore the check: there is no image
	// to stage, Kubernetes itself refuses the step, or a later step waits forever.
	Mandatory bool
}

var (
	mandatory = Effect{Levels: []v1alpha1.FindingLevel{v1alpha1.LevelBlock}, Mandatory: true}
	blocks    = Effect{Levels: []v1alpha1.FindingLevel{v1alpha1.LevelBlock}}
	warns     = Effect{Levels: []v1alpha1.FindingLevel{v1alpha1.LevelWarn}}
	either    = Effect{Levels: []v1alpha1.FindingLevel{v1alpha1.LevelBlock, v1alpha1.LevelWarn}}
)

// families are all checks, in the order in which Check runs them.
var families = []Family{
	{"Version", versionChecks},
	{"Control plane", controlPlaneChecks},
	{"etcd", etcdChecks},
	{"Certificates", certificateChecks},
	{"Disk and memory", diskChecks},
	{"What the version no longer supports", trapChecks},
	{"Workloads", workloadChecks},
	{"Admission webhooks", webhookChecks},
	{"Other programs", otherChecks},
	{"Facts", factsChecks},
}

// entries are the checks by id.
var entries = byID()

func byID() map[string]Entry {
	byID := map[string]Entry{}
	for _, family := range families {
		for _, entry := range family.Checks {
			byID[entry.ID] = entry
		}
	}
	return byID
}

// Catalog describes every check, by family.
func Catalog() []Family { return slices.Clone(families) }

// Known reports whether there is a check with that id.
func Known(id string) bool {
	_, known := entries[id]
	return known
}

// Ignorable reports whether an upgrade that ignores the check continues. The findings are
// marked as ignored in either case.
func Ignorable(id string) bool { return Known(id) && !entries[id].Mandatory }
