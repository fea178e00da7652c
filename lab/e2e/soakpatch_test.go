//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// soakPatch is the upgrade of every node to another patch.
type soakPatch struct {
	patch
	version string
	// programsOf is the version whose programs are published under this version. Empty: its own.
	programsOf string
}

// soakPatches are the upgrades of a soak, in order: no node can be downgraded, so each needs
// another version. Those after to are its programs under other names, and the last one is
// v1.34.9, because all names need to have the same length. Two of three use method Restart,
// after which the agents of all nodes are the same processes.
func soakPatches() []*soakPatch {
	all := []*soakPatch{{version: to, patch: patch{method: v1alpha1.MethodReboot}}}
	for i := 5; i <= 9; i++ {
		p := &soakPatch{version: fmt.Sprintf("v1.34.%d", i), programsOf: to, patch: patch{method: v1alpha1.MethodRestart}}
		if i%3 == 1 {
			p.method = v1alpha1.MethodReboot
		}
		all = append(all, p)
	}
	return all
}

func (p *soakPatch) publish(c *testCluster) error {
	args := []string{"publish", p.version}
	if p.programsOf != "" {
		args = append(args, "--programs-of", p.programsOf)
	}
	_, err := c.Lab.Lab(c.ctx, args...)
	return err
}

// begin begins the upgrade. That of a soak's patch begins when it is w1's turn: the control
// plane is first.
func (f *faultRun) begin(t *testing.T) {
	t.Helper()
	if f.soaks == nil {
		f.must(t)("", f.start())
		return
	}
	if f.blocked {
		f.must(t)("", f.block())
	}
	f.must(t)("", f.soaks.publish(f.testCluster))
	f.must(t)("", f.createUpgrade(f.id))
	f.eventually(t, 15*time.Minute, "it is w1's turn", func() error {
		if step, _ := nextStep(f.recorder.Moments(), "w1", 0, map[v1alpha1.Step]bool{locking: true}); step == "" {
			return errors.New("w1 has no slot")
		}
		return nil
	})
}
