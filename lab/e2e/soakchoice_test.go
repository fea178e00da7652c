//go:build e2e

package e2e

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// noFault is the fault of a round without any.
var noFault = fault{name: "none", what: "no fault", at: steps{locking}, inject: none}

// choice chooses the rounds of a soak. The same seed gives the same rounds.
type choice struct {
	random *rand.Rand
	left   []*soakPatch
	rounds int
}

func newChoice(seed uint64) *choice {
	return &choice{random: rand.New(rand.NewPCG(seed, 0)), left: soakPatches()}
}

// next returns the next round: a patch and reboots by turns, while there are patches, and
// with a fault in about half of the rounds. The first is without, to warm up.
func (c *choice) next() *faultRun {
	r := &faultRun{fault: noFault, id: fmt.Sprintf("soak-%03d", c.rounds), step: locking}
	if c.rounds%2 == 1 && len(c.left) > 0 {
		r.soaks, c.left = c.left[0], c.left[1:]
	}
	c.rounds++
	disturbed := c.random.IntN(2) == 0 // drawn always, so that the rounds depend on the seed alone
	index, step := c.random.Uint32(), c.random.Uint32()
	if c.rounds == 1 || !disturbed {
		return r
	}
	possible := slices.DeleteFunc(slices.Clone(faults), func(f fault) bool { return !r.possible(f) })
	r.fault = possible[int(index)%len(possible)]
	at := slices.DeleteFunc(slices.Clone(r.fault.at), func(s v1alpha1.Step) bool { return !r.reaches(s) })
	r.step = at[int(step)%len(at)]
	return r
}

// possible reports whether the fault can be injected into the round. Those that only stage a
// patch need a version that no node has. The others are excluded from patches after which not
// every node has the version, or that stop the control plane's node instead of w1.
func (f *faultRun) possible(other fault) bool {
	if f.soaks == nil {
		return !other.stages
	}
	if other.then != nil || other.before != nil || other.stages {
		return false
	}
	if f.soaks.method == v1alpha1.MethodRestart && (other.blocked || other.throughout || other.says.reason != "") {
		return false
	}
	return slices.ContainsFunc(other.at, f.reaches)
}

// reaches reports whether w1 goes through the step. By method Restart it is neither drained
// nor rebooted.
func (f *faultRun) reaches(step v1alpha1.Step) bool {
	return f.soaks == nil || f.soaks.method != v1alpha1.MethodRestart || step == locking || step == verifying || step == settling
}
