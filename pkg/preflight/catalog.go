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
	// Levels that its findings have.
	Levels []v1alpha1.FindingLevel
	// About says when it has a finding.
	About string
	// Advice says what to do, where the finding itself gives no advice.
	Advice string
}

var (
	blocks = []v1alpha1.FindingLevel{v1alpha1.LevelBlock}
	warns  = []v1alpha1.FindingLevel{v1alpha1.LevelWarn}
	either = []v1alpha1.FindingLevel{v1alpha1.LevelBlock, v1alpha1.LevelWarn}
)

// families are all checks, in the order in which Check runs them.
var families = []Family{
	{"Version", versionChecks},
	{"Control plane", controlPlaneChecks},
	{"etcd", etcdChecks},
	{"Certificates", certificateChecks},
	{"Disk", diskChecks},
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

// Known reports whether there is a check of that id.
func Known(id string) bool {
	_, known := entries[id]
	return known
}
