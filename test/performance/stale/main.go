// Command stale lists the sections of lab/results/performance.md, with the number of commits since each was measured that changed
// what it measures: `make bench-stale`.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"text/tabwriter"

	"github.com/kubectl-upgrade/kubectl-upgrade/test/performance"
)

func main() {
	sections, err := performance.Sections("lab/results/performance")
	if err != nil {
		fmt.Fprintln(os.Stderr, "stale:", err)
		os.Exit(1)
	}
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "SECTION\tMEASURED\tCOMMIT\tCOMMITS SINCE\tIN")
	for _, s := range sections {
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\n", s.Name, s.Date, s.Commit, since(s), strings.Join(s.Measures, " "))
	}
	if err := out.Flush(); err != nil {
		fmt.Fprintln(os.Stderr, "stale:", err)
		os.Exit(1)
	}
}

// since returns how many commits have changed what the section measures.
func since(s performance.Section) string {
	commit := strings.TrimSuffix(s.Commit, "-dirty")
	args := append([]string{"rev-list", "--count", commit + "..HEAD", "--"}, s.Measures...)
	out, err := exec.CommandContext(context.Background(), "git", args...).Output() //nolint:gosec // the sections are of this repository
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}
