package stall

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// pressure is how long every program that had work has waited since the machine booted. It is
// zero where the kernel does not count that.
type pressure struct{ io, memory time.Duration }

func readPressure() pressure {
	read := func(name string) time.Duration {
		text, err := os.ReadFile("/proc/pressure/" + name)
		if err != nil {
			return 0
		}
		return fullTotal(string(text))
	}
	return pressure{read("io"), read("memory")}
}

// fullTotal returns the total of the line "full" of a file in /proc/pressure, which is in
// microseconds.
func fullTotal(text string) time.Duration {
	for line := range strings.Lines(text) {
		if rest, is := strings.CutPrefix(line, "full "); is {
			_, total, _ := strings.Cut(rest, "total=")
			count, err := strconv.ParseInt(strings.TrimSpace(total), 10, 64)
			if err == nil {
				return time.Duration(count) * time.Microsecond
			}
		}
	}
	return 0
}

// since returns the parts of the time since an earlier reading.
func (p pressure) since(earlier pressure, passed time.Duration) (io, memory float64) {
	part := func(now, before time.Duration) float64 { return min(1, float64(now-before)/float64(passed)) }
	return part(p.io, earlier.io), part(p.memory, earlier.memory)
}
