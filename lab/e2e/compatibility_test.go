//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// longCells are the ids of the rows of TestLong and TestLongBySchedule.
func longCells() []string {
	var ids []string
	for _, kind := range []string{"minor", "scheduled"} {
		for _, to := range minors[1:] {
			ids = append(ids, kind+"-"+minorOf(to))
		}
	}
	return ids
}

// cells are the ids of the rows of lab/results/compatibility.md, in their order.
func cells() []string {
	var ids []string
	for _, one := range matrix() {
		ids = append(ids, one.id())
	}
	return append(append(ids, longCells()...), newestCell)
}

const compatibilityPage = `# Compatibility

<!-- Written by the end-to-end tests: make e2e-matrix, make e2e-long and make e2e-sid. -->

What has passed on real nodes of the [lab](../README.md), beside the [last runs of the other tests](README.md), which use v1.34.3 to v1.35.4 and systemd 257. Nothing else is supported. Each row is written by the run of its test, at the time that it names.

- **Patches** (` + "`make e2e-matrix`" + `): a control plane and a worker with that systemd are upgraded to a patch of that minor. Nodes have the kubelet, kubeadm and images of that minor; the patch is the same program under another version, as a patch release changes little. Both nodes run it afterwards, nothing is left over, and the [promises](../../docs/architecture.md#promises) are kept.
- **Minors** (` + "`make e2e-long`" + `): one cluster of three control planes and a worker goes from 1.32 to 1.36, first by one command for each minor, and then on a new cluster by schedule alone, with a freeze in between. A web service with two replicas answers every request, and a stateful workload with local data (an etcd of three members) loses none of the writes that it has acknowledged.
- **The newest systemd** (` + "`make e2e-sid`" + `): one node of Debian sid is staged, rolled back by the guard, upgraded and given back, while the timer of its systemd-sysupdate, which deletes files that no definition covers, runs every few seconds. sid moves: the row has the package that systemd was from, and a run with another one says so.

| case | systemd | Kubernetes | method | time | run | command |
| --- | --- | --- | --- | --- | --- | --- |
`

// compatibilityVariable is the environment variable with the path of the page.
const compatibilityVariable = "COMPATIBILITY"

// systemd returns the version of the nodes' systemd and the package that it is from:
// "262 (262.1-1)".
func (c *testCluster) systemd(t *testing.T) string {
	t.Helper()
	first, _, _ := strings.Cut(c.must(t)(c.Exec(c.ctx, c.nodes[0], "systemctl", "--version")), "\n")
	return strings.TrimPrefix(first, "systemd ")
}

// writeCompatibility writes a row to the page that COMPATIBILITY names, in place of the row of
// an earlier run. A case that failed loses its row, and one that is void keeps it.
func (c *testCluster) writeCompatibility(t *testing.T, id, from, to, method string, took time.Duration) {
	t.Helper()
	page := os.Getenv(compatibilityVariable)
	if page == "" || c.isVoid(t, time.Now().Add(-took)) {
		return
	}
	rows := readRows(t, page)
	delete(rows, id)
	if !t.Failed() {
		target := "e2e-matrix CASE=" + id
		switch {
		case slices.Contains(longCells(), id):
			target = "e2e-long"
		case id == newestCell:
			target = "e2e-sid"
		}
		rows[id] = fmt.Sprintf("| `%s` | %s | %s to %s | %s | %s | %s | `make %s` |\n",
			id, c.systemd(t), from, to, method, took.Round(time.Second), time.Now().UTC().Format(time.DateOnly), target)
	}
	text := compatibilityPage
	var missing []string
	for _, id := range cells() {
		if row, ran := rows[id]; ran {
			text += row
		} else {
			missing = append(missing, id)
		}
	}
	if err := os.WriteFile(page, []byte(text+withoutRow(missing)), 0o644); err != nil {
		t.Fatal(err)
	}
}
