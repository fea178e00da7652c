package guard

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// extensionReleases has a file for each extension that is merged (systemd-sysext(8)).
const extensionReleases = "/usr/lib/extension-release.d"

// journals are the units whose journals are evidence, with how many lines and bytes of them. The
// NodeUpgrade takes 8192 bytes in all.
var journals = []struct {
	unit         string
	lines, bytes int
}{{sysextUnit, 6, 1 << 10}, {containerdUnit, 6, 1 << 10}, {kubeletUnit, 12, 2 << 10}}

// evidence returns what was merged, and the states of the units with the ends of their journals.
func (g *guardian) evidence(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, journalTimeout)
	defer cancel()
	var text strings.Builder
	fmt.Fprintf(&text, "merged: %s\n", g.extensions())
	found, err := g.units(ctx)
	if err != nil {
		fmt.Fprintf(&text, "systemd did not answer: %v\n", err)
	}
	for _, j := range journals {
		if u := found[j.unit]; u["LoadState"] == "not-found" {
			fmt.Fprintf(&text, "%s: there is no such unit\n", j.unit)
			continue
		} else if u != nil {
			fmt.Fprintf(&text, "%s: %s (%s), result %s, status %s\n", j.unit, u["ActiveState"], u["SubState"], u["Result"], u["ExecMainStatus"])
		}
		lines, err := g.run(ctx, g.log, "journalctl", "--boot", fmt.Sprintf("--lines=%d", j.lines), "--output=cat", "--no-pager", "--unit="+j.unit)
		if err != nil {
			lines = fmt.Sprintf("the journal could not be read: %v", err)
		}
		text.WriteString(lastBytes(strings.TrimSpace(lines), j.bytes) + "\n")
	}
	return strings.TrimSpace(text.String())
}

// extensions returns the names of the extensions that are merged.
func (g *guardian) extensions() string {
	entries, err := os.ReadDir(g.At(extensionReleases))
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimPrefix(e.Name(), "extension-release."))
	}
	switch {
	case len(names) > 0:
		return host.Clip(strings.Join(names, ", "), maxFailure)
	case err != nil && !os.IsNotExist(err):
		return err.Error()
	}
	return "no extension"
}
