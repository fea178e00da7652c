package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/preflight"
)

// ignoredChecks reads the values of --ignore-check: ID=REASON, or IDs with commas
// between them. Each check is there once.
func ignoredChecks(values []string) ([]v1alpha1.IgnoredCheck, error) {
	var checks []v1alpha1.IgnoredCheck
	for _, value := range values {
		ids, reason, _ := strings.Cut(value, "=")
		reason = strings.TrimSpace(reason)
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
			checks[i].Reason = cmp.Or(reason, checks[i].Reason)
		}
	}
	return checks, nil
}

// noSuchCheck is for an id that is no check's: a slip of the pen would let nothing
// through, and stand in the record.
func noSuchCheck(id string) error {
	hint := ""
	if near := nearChecks(id); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "? "
	}
	return fmt.Errorf("--ignore-check=%s: there is no such check; %sdocs/checks.md lists them all", id, hint)
}

// mostNear is how many ids are worth reading instead of the list.
const mostNear = 3

// nearChecks are the ids that share a word with what was asked for, those with
// most of them first.
func nearChecks(asked string) []string {
	shared := map[string]int{}
	var near []string
	for _, family := range preflight.Catalog() {
		for _, entry := range family.Checks {
			if shared[entry.ID] = sharedWords(asked, entry.ID); shared[entry.ID] > 0 {
				near = append(near, entry.ID)
			}
		}
	}
	slices.SortStableFunc(near, func(a, b string) int { return shared[b] - shared[a] })
	return near[:min(len(near), mostNear)]
}

// sharedWords counts the words of a that b has too, be there one of a thing or
// several.
func sharedWords(a, b string) (count int) {
	others := words(b)
	for _, word := range words(a) {
		if slices.Contains(others, word) {
			count++
		}
	}
	return count
}

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
