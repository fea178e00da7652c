//go:build e2e

package e2e

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/artifacts"
)

// capiPage begins lab/results/clusterapi.md. The rows follow.
const capiPage = `# Cluster API

<!-- Written by the end-to-end tests: make e2e-capi. -->

What happens when Cluster API ` + artifacts.ClusterAPIVersion + ` upgrades machines in place by kubectl-upgrade: its own controllers with the feature gates RuntimeSDK and InPlaceUpdates, three control planes and two workers of the [lab](../README.md). Each row is a case of ` + "`make e2e-capi`" + `, the last of ` + "`make e2e-class`" + `, and is written by the run of that case. In every case each Machine keeps its UID and none is made or deleted, and the [promises](../../docs/architecture.md#promises) are checked from outside.

| case | what happened | what Cluster API showed | time |
| --- | --- | --- | --- |
`

// writeCase writes the row of a case to the page that CLUSTER_API_PAGE names.
func (m *managed) writeCase(t *testing.T, one capiCase, took time.Duration) {
	t.Helper()
	page := os.Getenv("CLUSTER_API_PAGE")
	if page == "" {
		return
	}
	what := one.what
	if t.Failed() {
		what = "**failed**: " + what
	}
	rows := readRows(t, page)
	rows[one.name] = fmt.Sprintf("| `%s` | %s | %s | %s %s |\n", one.name, cell(what), cell(cmp.Or(m.said, "–")), took.Round(time.Second), buildComment(t))
	text := capiPage
	var missing []string
	for _, known := range append(slices.Clone(capiCases), classCase) {
		if row, ran := rows[known.name]; ran {
			text += row
		} else {
			missing = append(missing, known.name)
		}
	}
	if err := os.WriteFile(page, []byte(text+ofBuilds(rows)+withoutRow(missing)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// passedClusterAPI returns the cases that have passed with this build, by the page.
func passedClusterAPI(t *testing.T) map[string]bool {
	t.Helper()
	passed := map[string]bool{}
	page := os.Getenv("CLUSTER_API_PAGE")
	if page == "" || os.Getenv("FAULT_FORCE") != "" {
		return passed
	}
	for id, row := range readRows(t, page) {
		passed[id] = strings.Contains(row, buildComment(t)) && !strings.Contains(row, "**failed**")
	}
	return passed
}
