package preflight

import (
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Bound returns at most limit of the findings, in their order. If there are too many, it
// omits findings of the checks that have most, and adds one of the same check and level
// that says how many were omitted. It may exceed a limit below twice the number of
// checks.
func Bound(findings []v1alpha1.Finding, limit int) []v1alpha1.Finding {
	if len(findings) <= limit {
		return findings
	}
	seen := map[group]int{}
	for _, f := range findings {
		seen[group{f.Level, f.ID}]++
	}
	share := limit
	for share > 1 && bounded(seen, share) > limit {
		share--
	}
	shown := map[group]int{}
	var out []v1alpha1.Finding
	for _, f := range findings {
		g := group{f.Level, f.ID}
		shown[g]++
		switch {
		case shown[g] <= share:
			out = append(out, f)
		case shown[g] == share+1:
			out = append(out, v1alpha1.Finding{
				ID: f.ID, Level: f.Level, Advice: f.Advice, Ignored: f.Ignored,
				Message: fmt.Sprintf("More findings of this check, which are not listed: %d.", seen[g]-share),
			})
		}
	}
	return out
}

// group identifies findings that are omitted together.
type group struct {
	level v1alpha1.FindingLevel
	id    string
}

// bounded returns how many findings are left if each group shows share of its own.
func bounded(seen map[group]int, share int) int {
	total := 0
	for _, n := range seen {
		total += min(n, share+1)
	}
	return total
}
