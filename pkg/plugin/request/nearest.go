package request

import (
	"slices"

	"github.com/spf13/cobra"
)

// Nearest returns the name that is most likely meant, by the rules by which cobra suggests
// commands; empty: none is near. One that differs in one letter is nearer than one that differs in two.
func Nearest(name string, names []string) string {
	commands := &cobra.Command{}
	for _, n := range names {
		commands.AddCommand(&cobra.Command{Use: n, Run: func(*cobra.Command, []string) {}})
	}
	for commands.SuggestionsMinimumDistance = 1; commands.SuggestionsMinimumDistance <= 2; commands.SuggestionsMinimumDistance++ {
		if near := commands.SuggestionsFor(name); len(near) > 0 {
			return slices.Min(near)
		}
	}
	return ""
}
