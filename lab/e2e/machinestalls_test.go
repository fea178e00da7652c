//go:build e2e

package e2e

import (
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/stall"
)

// echo is how long a promise may seem broken after the whole machine stood still: a node is
// told NotReady, and Ready again, within that time.
const echo = time.Minute

// told returns what seems broken between two instants as it is to be told. If the whole machine
// stood still then, or shortly before, it is void: it is no promise that was broken, and the
// test has not passed either.
func (c *testCluster) told(from, to time.Time, what string) string {
	return stall.Told(c.still.Between(from.Add(-echo), to), what)
}

// late does the same for a wait that lasted longer than its limit.
func (c *testCluster) late(began time.Time, limit time.Duration, what string) string {
	return stall.ToldLate(c.still.Between(began, time.Now()), limit, what)
}

// isVoid reports whether a case has failed, and the machine stood still during it. Nothing is
// written to a page of results then.
func (c *testCluster) isVoid(t *testing.T, began time.Time) bool {
	t.Helper()
	stalls := c.still.Between(began.Add(-echo), time.Now())
	if !t.Failed() || len(stalls) == 0 {
		return false
	}
	t.Logf("void: %s; no result is written", stall.Describe(stalls))
	return true
}

// stalls says when the machine stood still during the whole test.
func (c *testCluster) stalls() string {
	stalls := c.still.Stalls()
	if len(stalls) == 0 {
		return "the machine never stood still"
	}
	return stall.Describe(stalls)
}
