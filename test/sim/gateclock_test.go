package sim

import (
	"math/rand/v2"
	"testing"
	"time"
	"unsafe"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// anyClockSteps sets the clock of the coordinators' machine back while gates are asked, in one seed of two with
// gates, and has a gate close then.
func anyClockSteps(s *script) {
	r := rand.New(rand.NewPCG(s.Seed, 19))
	if !s.Gates || r.IntN(2) == 0 {
		return
	}
	back := fault{
		At: early(r.Float64(), s.Lasts), Kind: "set coordinators' clock", For: time.Duration(1+r.IntN(15)) * time.Minute,
		Number: []int{1, 10, 60, 600}[r.IntN(4)], After: r.IntN(6) == 0,
	}
	closes := fault{
		At: back.At + time.Duration(r.IntN(20))*time.Second, Kind: "close gate", Who: []string{alertsGate, databaseGate, backupGate}[r.IntN(3)],
		For: time.Duration(30+r.IntN(400)) * time.Second,
	}
	s.Faults = append(s.Faults, back, closes)
}

// setCoordinatorsClock sets the clock back by a number of minutes, or on, and later right.
func (w *world) setCoordinatorsClock(f fault) {
	w.coordinatorsClock = -time.Duration(f.Number) * time.Minute
	if f.After {
		w.coordinatorsClock = -w.coordinatorsClock
	}
	w.until(f, func() { w.coordinatorsClock = 0 })
}

// coordinatorsNow is the time by the coordinators' clock.
func (w *world) coordinatorsNow() time.Time {
	return clockTime(w.now().Add(w.coordinatorsClock), w.now().Sub(w.started))
}

// clockTime returns the time of a machine whose clock may have been set: its wall clock shows one thing, and it has
// measured another one since it was started. Package time has no function for that, and a bubble of
// testing/synctest measures nothing.
func clockTime(shows time.Time, measured time.Duration) time.Time {
	const measures, since1885 = 1 << 63, 2682288000
	var t time.Time
	parts := (*struct {
		wall uint64
		ext  int64
		loc  *time.Location
	})(unsafe.Pointer(&t))
	parts.wall = measures | uint64(shows.Unix()+since1885)<<30 | uint64(shows.Nanosecond())
	parts.ext = int64(measured) + 1
	return t // in UTC
}

// checkPrepared checks that no node begins an upgrade before the hook before it has run. Late nodes, which
// follow one that has ended, have none.
func (w *world) checkPrepared(a *agentProgram) {
	u := w.upgradeOf(a)
	if u == nil || w.script.NodeHooks || u.Status.Outcome != "" || w.began[string(u.UID)] || w.hooked.prepared[string(u.UID)] {
		return
	}
	for _, t := range w.livePolicy().Status.HookTurns {
		for _, run := range t.Hooks {
			if t.Upgrade.UID == string(u.UID) && run.Name == prepareHook && run.State == v1alpha1.HookFailed && run.JobUID == "" {
				return // it could not be started, and that holds no node
			}
		}
	}
	w.broken("hook", "%s takes a slot, is the first of upgrade %s, and hook %s has not run", a.node.name, u.Name, prepareHook)
}

// TestClockTime checks that what a clock shows and what it measures are apart.
func TestClockTime(t *testing.T) {
	now := time.Now()
	before, after := clockTime(now, time.Minute), clockTime(now.Add(-time.Hour), 2*time.Minute)
	if !before.Round(0).Equal(now.Round(0)) || after.Format(time.RFC3339Nano) != now.Add(-time.Hour).Format(time.RFC3339Nano) {
		t.Errorf("the clock shows %s and %s, want %s and an hour less", before, after, now)
	}
	if got := after.Sub(before); got != time.Minute {
		t.Errorf("%s have passed, want 1m", got)
	}
	if got := after.Round(0).Sub(before.Round(0)); got != -time.Hour {
		t.Errorf("the wall clock differs by %s, want -1h", got)
	}
}
