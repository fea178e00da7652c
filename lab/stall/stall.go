// Package stall notices when the whole machine stood still: nodes, the programs that watch
// them, and the clock. A promise that seems broken at such a time says nothing about the
// product.
package stall

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Reading is what a Watch saw from the end of its last reading to the end of this one.
type Reading struct {
	From, To time.Time
	// Late is how much later than planned the watch ran: this program, and with it the probes,
	// did not run, or the clock jumped.
	Late time.Duration
	// Fsync is how long it took to write a small file to the disk.
	Fsync time.Duration
	// IO and Memory are the parts of the time, up to 1, in which every program that had work
	// waited for the disk, or for memory: "full" in /proc/pressure.
	IO, Memory float64
}

// Limits of a reading of a machine that works. A loaded one is late by tenths of a second.
const (
	lateAtMost     = time.Second
	fsyncAtMost    = 2 * time.Second
	pressureAtMost = 0.8
	// shortest is how long a machine has to stand still to count: etcd elects another leader
	// after one second, and the tests' own limits are longer.
	shortest = 2 * time.Second
)

func (r Reading) still() bool {
	return r.Late > lateAtMost || r.Fsync > fsyncAtMost || r.IO > pressureAtMost || r.Memory > pressureAtMost
}

// Stall is a time in which the machine stood still. The figures are the largest of its
// readings.
type Stall struct{ Reading }

// Of returns the times in which the machine stood still. Readings are in order.
func Of(readings []Reading) []Stall {
	var stalls []Stall
	before := false
	for _, r := range readings {
		switch {
		case !r.still():
		case before:
			last := &stalls[len(stalls)-1]
			last.To = r.To
			last.Late, last.Fsync = max(last.Late, r.Late), max(last.Fsync, r.Fsync)
			last.IO, last.Memory = max(last.IO, r.IO), max(last.Memory, r.Memory)
		default:
			stalls = append(stalls, Stall{r})
		}
		before = r.still()
	}
	return slices.DeleteFunc(stalls, func(s Stall) bool { return s.Length() < shortest })
}

// Length of the stall.
func (s Stall) Length() time.Duration { return s.To.Sub(s.From) }

// String says from when to when, and what shows it.
func (s Stall) String() string {
	var shown []string
	if s.Late > lateAtMost {
		shown = append(shown, fmt.Sprintf("clock gap %.1f s", s.Late.Seconds()))
	}
	if s.Fsync > fsyncAtMost {
		shown = append(shown, fmt.Sprintf("fsync %.1f s", s.Fsync.Seconds()))
	}
	if s.IO > pressureAtMost {
		shown = append(shown, fmt.Sprintf("io pressure full %.0f %%", 100*s.IO))
	}
	if s.Memory > pressureAtMost {
		shown = append(shown, fmt.Sprintf("memory pressure full %.0f %%", 100*s.Memory))
	}
	return fmt.Sprintf("the machine stood still from %s to %s (%s)", s.From.UTC().Format(time.TimeOnly), s.To.UTC().Format(time.TimeOnly), strings.Join(shown, ", "))
}

// Between returns the stalls that overlap the time between two instants.
func Between(stalls []Stall, from, to time.Time) []Stall {
	return slices.DeleteFunc(slices.Clone(stalls), func(s Stall) bool { return s.To.Before(from) || s.From.After(to) })
}

// Length returns how long the stalls are together.
func Length(stalls []Stall) (sum time.Duration) {
	for _, s := range stalls {
		sum += s.Length()
	}
	return sum
}

// Describe names all of them.
func Describe(stalls []Stall) string {
	var all []string
	for _, s := range stalls {
		all = append(all, s.String())
	}
	return strings.Join(all, "; ")
}

// Told returns what seems broken as it is to be told, if the machine stood still meanwhile: it
// is void.
func Told(stalls []Stall, what string) string {
	if len(stalls) == 0 {
		return what
	}
	return fmt.Sprintf("void: %s; meanwhile: %s", Describe(stalls), what)
}

// ToldLate does the same for a wait that lasted longer than its limit: the machine has to have
// stood still for a tenth of it.
func ToldLate(stalls []Stall, limit time.Duration, what string) string {
	if Length(stalls) < limit/10 {
		return what
	}
	return Told(stalls, what)
}
