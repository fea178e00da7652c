//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/record"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// combination is a cell of the matrix: a patch of a version by a method, on nodes made of a Debian.
type combination struct {
	base, version string
	method        v1alpha1.Method
}

// id names the cell, "trixie-v1.34-reboot".
func (c combination) id() string {
	return c.base + "-" + minorOf(c.version) + "-" + strings.ToLower(string(c.method))
}

// bases are the Debians of `lab up --base` that have a systemd-sysupdate, from the oldest
// systemd to the newest. Nodes of sid only boot on version 2 control groups.
var bases = []string{"bookworm-backports", "trixie", "sid"}

func matrix() []combination {
	var cells []combination
	for _, base := range bases {
		for _, from := range minors {
			for _, method := range v1alpha1.Methods {
				cells = append(cells, combination{base, from, method})
			}
		}
	}
	return cells
}

// TestMatrix upgrades a control plane and a worker to a patch in each cell. MATRIX_CASES is a
// regular expression that selects cells. Cells of the same nodes and version share a cluster:
// `make e2e-matrix`.
func TestMatrix(t *testing.T) {
	selected := regexp.MustCompile(os.Getenv("MATRIX_CASES"))
	chosen := slices.DeleteFunc(matrix(), func(c combination) bool { return !selected.MatchString(c.id()) })
	if len(chosen) == 0 {
		t.Fatalf("MATRIX_CASES=%s selects no cell", selected)
	}
	for len(chosen) > 0 {
		first := chosen[0]
		shared := slices.IndexFunc(chosen, func(c combination) bool { return c.base != first.base || c.version != first.version })
		if shared < 0 {
			shared = len(chosen)
		}
		cells := chosen[:shared]
		chosen = chosen[shared:]
		t.Run(first.base+" "+minorOf(first.version), func(t *testing.T) { runCells(t, cells) })
	}
}

// runCells runs cells of the same nodes and version, one patch after the other.
func runCells(t *testing.T, cells []combination) {
	c := newCluster(t, 1, 1, "--version", cells[0].version, "--base", cells[0].base)
	c.apply(t, scenario.OpenSchedule)
	from := cells[0].version
	for _, one := range cells {
		to := nextPatch(t, from)
		t.Run(one.id(), func(t *testing.T) { c.patchCell(t, one, from, to) })
		from = to
	}
}

// patchCell upgrades both nodes, checks them, and writes the row of the cell.
func (c *testCluster) patchCell(t *testing.T, one combination, from, to string) {
	c.stopRecording()
	c.record()
	c.must(t)(c.Lab.Lab(c.ctx, "publish", to, "--programs-of", one.version))
	began := time.Now()
	c.apply(t, fmt.Sprintf(patchBy, to, one.method))
	c.eventually(t, 12*time.Minute, to+" has succeeded", func() error { return c.upgradeSucceeded(to) })
	took := time.Since(began)
	c.eventually(t, 2*time.Minute, "nothing is left over", func() error { return c.nothingLeft() })
	c.checkNodes(t, from, to)
	c.checkMinorStaticPods(t, to)
	c.report(t)(record.Promises(c.recorder.Moments(), 1))
	c.report(t)(record.Skew(c.recorder.Moments()))
	want, method := one.method, string(one.method)
	if want == v1alpha1.MethodSoftReboot && one.base == "bookworm-backports" {
		want = v1alpha1.MethodReboot // its systemd, 254, does not count soft reboots
		method = fmt.Sprintf("%s, which fell back to %s", one.method, want)
	}
	for _, node := range c.nodes {
		if got, why := c.method(node); got != want {
			t.Errorf("%s was upgraded by method %s (%s), want %s", node, got, why, want)
		}
	}
	c.writeCompatibility(t, one.id(), from, to, method, took)
}

const patchBy = `
apiVersion: kubectl-upgrade.dev/v1alpha1
kind: ClusterUpgrade
metadata: {name: %[1]s}
spec:
  version: %[1]s
  strategy: {method: %[2]s}
`

// nextPatch returns the patch after that version: "v1.34.5" after "v1.34.4".
func nextPatch(t *testing.T, after string) string {
	t.Helper()
	v, err := version.Parse(after)
	if err != nil {
		t.Fatal(err)
	}
	v.Patch++
	return v.String()
}
