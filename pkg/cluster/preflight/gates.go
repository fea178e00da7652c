package preflight

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// gatesFile is what release/gates writes.
//
//go:embed gates.txt
var gatesFile string

// removedGates are feature gates, with the minor from which on no component knows them, and lastMinor is the last minor that
// they are known of. A component that is given a gate it does not know does not start ("unrecognized feature gate",
// k8s.io/component-base/featuregate).
//
// They are the early warning, before anything is staged: a node's rehearsal asks the programs themselves.
var removedGates, lastMinor = readGates(gatesFile)

func readGates(text string) (removed map[string]int, last int) {
	removed = map[string]int{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		minor, err := strconv.Atoi(words[0])
		if err != nil {
			panic(fmt.Sprintf("gates.txt: %q does not begin with a minor", line))
		}
		for _, gate := range words[1:] {
			removed[gate] = minor
		}
		last = max(last, minor)
	}
	return removed, last
}

// checkKnownMinor says that the tables of what versions remove end before the upgrade's minor.
func (c *checker) checkKnownMinor() {
	if !c.kubeadm || c.to.Minor <= lastMinor {
		return
	}
	c.add(v1alpha1.Finding{
		ID: "version-newer",
		Message: fmt.Sprintf("%s is newer than kubectl-upgrade's lists of removed feature gates, flags and fields, which end at v1.%d: whether a component refuses one shows in its rehearsal only.",
			c.to.Line(), lastMinor),
	})
}
