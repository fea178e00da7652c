package request

import (
	"slices"

	"github.com/spf13/cobra"
)

// Nearest returns the name that is most likely meant, by the rules by which cobra suggests
// commands; empty: none is near.
func Nearest(name string, names []string) string {
	commands := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, n := range names {
		commands.AddCommand(&cobra.Command{Use: n, Run: func(*cobra.Command, []string) {}})
	}
	near := commands.SuggestionsFor(name)
	if len(near) == 0 {
		return ""
	}
	return slices.Min(near)
}
