package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
)

// ignoredChecks reads the values of --ignore-check: ID=REASON, or IDs with commas between them
// and their reason. Without one it is that of the whole upgrade. Each check is in the result once.
func ignoredChecks(values []string, ofUpgrade string) ([]v1alpha1.IgnoredCheck, error) {
	var checks []v1alpha1.IgnoredCheck
	for _, value := range values {
		ids, reason, given := strings.Cut(value, "=")
		if reason = strings.TrimSpace(reason); given && reason == "" {
			return nil, fmt.Errorf("--ignore-check=%s: the reason is empty: perhaps a variable is not set", value)
		}
		if err := checkLength("ignore-check", reason); err != nil {
			return nil, err
		}
		for _, id := range strings.Split(ids, ",") {
			if !preflight.Known(id) {
				return nil, noSuchCheck(id)
			}
			i := slices.IndexFunc(checks, func(c v1alpha1.IgnoredCheck) bool { return c.ID == id })
			if i < 0 {
				i, checks = len(checks), append(checks, v1alpha1.IgnoredCheck{ID: id})
			}
			checks[i].Comment = cmp.Or(reason, checks[i].Comment)
		}
	}
	for i, c := range checks {
		if checks[i].Comment = cmp.Or(c.Comment, strings.TrimSpace(ofUpgrade)); checks[i].Comment == "" {
			return nil, fmt.Errorf("--ignore-check=%s: say why, for people who read the record: --ignore-check %s=REASON, or --reason of the whole upgrade", c.ID, c.ID)
		}
	}
	return checks, nil
}

// ignoredGates reads the values of --ignore-gate: NAME=REASON. Each gate is in the result once.
func ignoredGates(values []string) ([]v1alpha1.IgnoredGate, error) {
	var gates []v1alpha1.IgnoredGate
	for _, value := range values {
		name, reason, _ := strings.Cut(value, "=")
		reason = strings.TrimSpace(reason)
		if err := checkLength("ignore-gate", reason); err != nil {
			return nil, err
		}
		if name == "" || reason == "" {
			return nil, fmt.Errorf("--ignore-gate=%s: must be NAME=REASON", value)
		}
		gates = slices.DeleteFunc(gates, func(g v1alpha1.IgnoredGate) bool { return g.Name == name })
		gates = append(gates, v1alpha1.IgnoredGate{Name: name, Comment: reason})
	}
	return gates, nil
}

// noSuchCheck returns the error for an id that no check has: a typing error would ignore
// nothing, and would be kept in the record.
func noSuchCheck(id string) error {
	hint := ""
	if similar := similarChecks(id); len(similar) > 0 {
		hint = "did you mean " + strings.Join(similar, " or ") + "? "
	}
	return fmt.Errorf("--ignore-check=%s: there is no such check; %sdocs/checks.md lists them all", id, hint)
}

// maxSuggestions is how many ids an error suggests.
const maxSuggestions = 3

// similarChecks returns the ids of checks that share a word with the given one, those
// with most of them first.
func similarChecks(given string) []string {
	shared := map[string]int{}
	var similar []string
	for _, family := range preflight.Catalog() {
		for _, entry := range family.Checks {
			if shared[entry.ID] = sharedWords(given, entry.ID); shared[entry.ID] > 0 {
				similar = append(similar, entry.ID)
			}
		}
	}
	slices.SortStableFunc(similar, func(a, b string) int { return shared[b] - shared[a] })
	return similar[:min(len(similar), maxSuggestions)]
}

// sharedWords counts the words of a that b has too, in the singular or the plural.
func sharedWords(a, b string) (count int) {
	others := words(b)
	for _, word := range words(a) {
		if slices.Contains(others, word) {
			count++
		}
	}
	return count
}

// words returns the words of an id, in the singular.
func words(id string) []string {
	list := strings.Split(strings.ToLower(id), "-")
	for i, word := range list {
		list[i] = strings.TrimSuffix(word, "s")
	}
	return list
}

// completeCheck offers the ids of the checks that may block.
func completeCheck(*cobra.Command, []string, string) (ids []string, _ cobra.ShellCompDirective) {
	for _, family := range preflight.Catalog() {
		for _, entry := range family.Checks {
			if slices.Contains(entry.Levels, v1alpha1.LevelBlock) {
				ids = append(ids, cobra.CompletionWithDesc(entry.ID, entry.About))
			}
		}
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}
