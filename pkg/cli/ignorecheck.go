package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/preflight"
)

// checkIgnored refuses ids that are no check's: a slip of the pen would let
// nothing through, and stand in the record.
func checkIgnored(ids []string) error {
	for _, id := range ids {
		if preflight.Known(id) {
			continue
		}
		hint := ""
		if near := nearChecks(id); len(near) > 0 {
			hint = "did you mean " + strings.Join(near, " or ") + "? "
		}
		return fmt.Errorf("--ignore-check=%s: there is no such check; %sdocs/checks.md lists them all", id, hint)
	}
	return nil
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
