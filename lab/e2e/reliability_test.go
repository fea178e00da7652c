//go:build e2e

package e2e

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/record"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// row is a case's row in lab/results/reliability.md.
type row struct {
	id, happened, said string
	took               time.Duration
	promises           string
}

// reliabilityPage begins the page. The rows follow.
const reliabilityPage = `# Reliability

<!-- Written by the end-to-end tests: make e2e-faults. -->

What kubectl-upgrade does when things break, on real nodes. Each row is a case of ` + "`make e2e-faults`" + `, and is written by the run of that case. The nodes are those of the [lab](../README.md): systemd, containerd, kubeadm and systemd-sysupdate as on Flatcar, one control plane and two or three workers.

**The guard's cases** (` + "`TestGuard`, names that begin with `cp1-` and `w1-`" + `) upgrade one node to an image that passes every check and fails once it is merged. The guard has to return the node to its former version within five minutes.

**The other cases** (` + "`TestFaults`" + `) reboot w1 and then w2 by a ClusterUpgrade of type Reboot, or upgrade the nodes that the row names from v1.34.3 to v1.34.4, with one slot. They inject a fault when the first node reaches the step that ends the case's name. Then:
- ` + "`kubectl upgrade status`" + ` has to give the true reason, if a node has to wait;
- the upgrade has to end, without a person's help other than what ends the fault;
- nothing is left over: no cordon, annotation, slot, half image, unit, mount or file of the guard;
- a recorder outside, which sees every version of every object, checks the [promises](../../docs/architecture.md#promises): never more nodes out of service than slots, none without its slot, nothing begun outside the hours, no other person's cordon removed.

What real nodes cannot be made to do, [the simulator](../../docs/simulator.md) does: stale reads, lost events, and crashes between any two writes.

To repeat one case, as root on a Debian machine: ` + "`make e2e-faults CASE=api-gone-draining`" + `. CASE is a regular expression. A case that has passed with the same sources is not run again, unless ` + "`FORCE=1`" + ` is given.

| case | what happened | the reason that status gave | time | promises |
| --- | --- | --- | --- | --- |
`

// writeRow writes the row of a case to the page that RELIABILITY names, in place of the row of
// an earlier run.
func writeRow(t *testing.T, r row) {
	t.Helper()
	page := os.Getenv("RELIABILITY")
	if page == "" {
		return
	}
	if t.Failed() {
		r.happened = "**failed**: " + r.happened
	}
	rows := readRows(t, page)
	rows[r.id] = fmt.Sprintf("| `%s` | %s | %s | %s | %s |\n", r.id, cell(r.happened), cell(cmp.Or(r.said, "–")), r.took.Round(time.Second), cell(r.promises)+" "+buildComment(t))
	if err := os.WriteFile(page, []byte(pageOf(rows)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// build identifies what the programs and the manifests are made of: the pages that the cases
// write, and the version that the programs print, do not count.
func build(t *testing.T) string {
	t.Helper()
	sum := sha256.New()
	for _, name := range []string{"go.mod", "go.sum", "cmd", "pkg", "manifests"} {
		err := filepath.WalkDir(filepath.Join("..", "..", name), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && (d.Name() == "testdata" || d.Name() == "internal"):
				return fs.SkipDir
			case d.IsDir(), strings.HasSuffix(path, "_test.go"):
				return nil
			}
			data, err := os.ReadFile(path)
			_, _ = fmt.Fprintf(sum, "%s %d\n%s", path, len(data), data)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return fmt.Sprintf("%x", sum.Sum(nil))[:12]
}

// buildComment is in the last cell of a row, and not shown.
func buildComment(t *testing.T) string { return "<!-- build " + build(t) + " -->" }

var builds = regexp.MustCompile(`<!-- build ([0-9a-f]+) -->`)

// passedCases returns the cases that have passed with this build, by the page that RELIABILITY
// names: they are not run again, unless FAULT_FORCE is set.
func passedCases(t *testing.T) map[string]bool {
	t.Helper()
	passed := map[string]bool{}
	page := os.Getenv("RELIABILITY")
	if page == "" || os.Getenv("FAULT_FORCE") != "" {
		return passed
	}
	this := buildComment(t)
	for id, row := range readRows(t, page) {
		if strings.Contains(row, this) && !strings.Contains(row, "**failed**") && !strings.Contains(row, "**broken**") {
			passed[id] = true
		}
	}
	t.Logf("%d cases have passed with %s, and are not run again", len(passed), this)
	return passed
}

// ofBuilds says of how many builds the rows are.
func ofBuilds(rows map[string]string) string {
	count := map[string]int{}
	for _, row := range rows {
		if found := builds.FindStringSubmatch(row); found != nil {
			count[found[1]]++
		} else {
			count["unknown"]++
		}
	}
	if len(count) == 1 {
		return "\nAll rows are of one build.\n"
	}
	return fmt.Sprintf("\nThe rows are of %d builds.\n", len(count))
}

// readRows returns the rows of a page by their ids, which begin them. A page that does not
// exist has none.
func readRows(t *testing.T, page string) map[string]string {
	t.Helper()
	old, err := os.ReadFile(page)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for line := range strings.Lines(string(old)) {
		if id, is := strings.CutPrefix(line, "| `"); is {
			id, _, _ = strings.Cut(id, "`")
			rows[id] = line
		}
	}
	return rows
}

// withoutRow names the cases that have no row, and is empty if there are none.
func withoutRow(ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	return "\nWithout a row, as they have not been run or have not passed: `" + strings.Join(ids, "`, `") + "`.\n"
}

// pageOf returns the page with the rows of the cases that there are, and names those that
// have none.
func pageOf(rows map[string]string) string {
	var ids, missing []string
	for _, f := range faultRuns() {
		ids = append(ids, f.id)
	}
	for _, image := range brokenImages {
		ids = append(ids, image.name())
	}
	text := reliabilityPage
	for _, id := range slices.Sorted(slices.Values(ids)) {
		if row, ran := rows[id]; ran {
			text += row
			continue
		}
		missing = append(missing, id)
	}
	return text + ofBuilds(rows) + withoutRow(missing)
}

// cell returns the text as a cell of a table.
func cell(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", "\\|")
}

// writeRow writes what happened in this case since the fault.
func (f *faultRun) writeRow(t *testing.T, began time.Time) {
	if f.injected.IsZero() {
		f.injected = began
	}
	happened := f.what
	for _, node := range f.upgraded() {
		happened += ". " + node + ": " + f.path(node)
	}
	r := row{f.id, happened, f.said, time.Since(f.injected), promises(f.broken(t))}
	if !f.isVoid(t, began) {
		writeRow(t, r)
	}
}

// promises returns the last cell of a row.
func promises(broken []record.Broken) string {
	if len(broken) == 0 {
		return "kept"
	}
	var lines []string
	for _, b := range broken {
		lines = append(lines, b.Message)
	}
	return "**broken**: " + strings.Join(lines, "; ")
}

// path returns the steps that a node went through since the fault.
func (f *faultRun) path(node string) string {
	var path []string
	for _, m := range f.recorder.Moments() {
		var u v1alpha1.NodeUpgrade
		if m.Resource != v1alpha1.NodeUpgrades.Resource || m.Object.GetName() != node || record.Convert(m, &u) != nil {
			continue
		}
		step := cmp.Or(string(u.Status.Step), "new")
		if m.Deleted {
			step = "deleted"
		}
		if n := len(path); n > 0 && (m.Seen.Before(f.injected) || path[n-1] == step) {
			path[n-1] = step
			continue
		}
		path = append(path, step)
	}
	return strings.Join(shortened(path), " → ")
}

// shortened replaces steps that follow each other as they always do by an ellipsis.
func shortened(path []string) []string {
	follows := func(i int) bool { // path[i] comes right after path[i-1] in every upgrade
		return slices.ContainsFunc([]steps{rebootSteps, workerSteps, controlPlaneSteps}, func(order steps) bool {
			before := slices.Index(order, v1alpha1.Step(path[i-1]))
			return before >= 0 && before+1 < len(order) && order[before+1] == v1alpha1.Step(path[i])
		})
	}
	var short []string
	for i := 0; i < len(path); {
		last := i
		for last+1 < len(path) && follows(last+1) {
			last++
		}
		if last-i < 3 {
			short = append(short, path[i])
			i++
			continue
		}
		short = append(short, path[i], "…", path[last])
		i = last + 1
	}
	return short
}
