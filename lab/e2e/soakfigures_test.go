//go:build e2e

package e2e

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/soak"
)

// figure is one line of the page: the values of one thing during the run.
type figure struct {
	name   string
	series soak.Series
	// limit is how much it may grow, and most how large it may be. Zero: no limit.
	limit soak.Limit
	most  float64
	// may says what it may do, and why, for the page.
	may string
}

// Memory varies with the moment at which Go collects it, and small numbers by a large part of
// themselves.
var (
	memoryLimit    = soak.Limit{Factor: 1.3}
	goroutineLimit = soak.Limit{Factor: 1.1, Slack: 5}
	fileLimit      = soak.Limit{Factor: 1.1, Slack: 3}
)

// tooLarge says what is wrong with the figure, if anything is.
func (f figure) tooLarge() string {
	if f.limit != (soak.Limit{}) && f.series.Grows(f.limit) {
		return fmt.Sprintf("%s grew from %.1f to %.1f", f.name, f.series.Early(), f.series.Late())
	}
	for _, p := range f.series {
		if f.most > 0 && p.Value > f.most {
			return fmt.Sprintf("%s: %.1f, want %.0f at most", f.name, p.Value, f.most)
		}
	}
	return ""
}

// judge fails the test if something grows.
func (s *soakRun) judge(t *testing.T) {
	t.Helper()
	for _, f := range s.figures() {
		if wrong := f.tooLarge(); wrong != "" {
			t.Error(wrong)
		}
	}
}

// figures returns all figures of the run.
func (s *soakRun) figures() []figure {
	return slices.Concat(s.processFigures(), s.clusterFigures(), s.requestFigures(), s.compactFigures())
}

// life is one process from its first measurement to its last.
type life struct {
	name    string
	process soak.Process
	at      []sample
	usages  []soak.Usage
}

// lives returns the processes that were measured, in the order in which they began. A
// coordinator that becomes the leader begins a new life.
func (s *soakRun) lives() []*life {
	var all []*life
	for _, one := range s.samples {
		for _, p := range one.processes {
			i := slices.IndexFunc(all, func(l *life) bool { return l.name == p.name && l.process == p.process })
			if i < 0 {
				i = len(all)
				all = append(all, &life{name: p.name, process: p.process})
			}
			all[i].at = append(all[i].at, one)
			all[i].usages = append(all[i].usages, p.usage)
		}
	}
	return all
}

// usageFigures returns the figures of usages that can be compared.
func usageFigures(name string, at []sample, usages []soak.Usage) []figure {
	series := func(value func(soak.Usage) float64) (s soak.Series) {
		for i, u := range usages {
			s = append(s, soak.Point{At: at[i].at, Value: value(u)})
		}
		return s
	}
	return []figure{
		{name: name + ": memory (RssAnon), MiB", limit: memoryLimit, may: "1.3 ×", series: series(func(u soak.Usage) float64 { return float64(u.Memory) / 1024 })},
		{name: name + ": goroutines", limit: goroutineLimit, may: "1.1 ×, and 5", series: series(func(u soak.Usage) float64 { return float64(u.Goroutines) })},
		{name: name + ": open files", limit: fileLimit, may: "1.1 ×, and 3", series: series(func(u soak.Usage) float64 { return float64(u.Files) })},
	}
}

// processFigures returns, for each agent and coordinator, the figures of every process that
// lived long enough to be judged, apart from its first measurement, when it may just have
// started; and those of all its processes as they were measured for the first time: what a
// process begins with must not grow either.
func (s *soakRun) processFigures() []figure {
	var all []figure
	first := map[string]*life{}
	count := map[string]int{}
	for _, l := range s.lives() {
		if first[l.name] == nil {
			first[l.name] = &life{}
		}
		if !l.at[0].is(s.samples[0]) { // it may have been old at the first measurement
			first[l.name].at = append(first[l.name].at, l.at[0])
			first[l.name].usages = append(first[l.name].usages, l.usages[0])
		}
		if len(l.usages) > judgedRounds {
			count[l.name]++
			name := l.name
			if n := count[l.name]; n > 1 {
				name += fmt.Sprintf(", process %d", n)
			}
			all = append(all, usageFigures(name, l.at[1:], l.usages[1:])...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(first)) {
		if f := first[name]; len(f.usages) >= judgedRounds {
			all = append(all, usageFigures(name+", soon after each start", f.at, f.usages)...)
		}
	}
	return all
}

// judgedRounds is how many measurements a process needs for its own lines.
const judgedRounds = 6

func (s sample) is(other sample) bool { return s.at == other.at }

// clusterLimits are the limits of what is measured once in the cluster, with their reasons.
var clusterLimits = map[string]figure{
	"ClusterUpgrades": {limit: soak.Limit{Factor: 1}, may: "nothing: each is deleted after its round"},
	"NodeUpgrades":    {limit: soak.Limit{Factor: 1}, may: "nothing: one per node"},
	"NodeInventories": {limit: soak.Limit{Factor: 1}, may: "nothing: one per node"},
	"UpgradeRecords":  {most: 4, may: "4: `historyLimit` is 3 upgrades, and one may just have ended"},
	"our Leases":      {limit: soak.Limit{Factor: 1}, may: "nothing: the slot and the leader's"},
	imageFiles:        {most: 3, may: "3: the running, the previous and the next version"},
	snapshots:         {most: 3, may: "3"},
	ownDisk:           {limit: soak.Limit{Factor: 1.1, Slack: 512}, may: "1.1 ×, and 512"},
	ourEvents:         {may: "until they are an hour old"},
	allEvents:         {may: "until they are an hour old"},
	journal:           {may: "until journald rotates it"},
	etcdTotal:         {may: "with Kubernetes' own objects and former versions"},
	etcdInUse:         {may: "with Kubernetes' own objects and former versions"},
	imageDisk:         {may: "with the number of images"},
	snapshotsMB:       {may: "with the number of snapshots, and etcd's file"},
}

func (s *soakRun) clusterFigures() []figure {
	names := map[string]bool{}
	for _, one := range s.samples {
		for name := range one.cluster {
			names[name] = true
		}
	}
	var all []figure
	for _, name := range slices.Sorted(maps.Keys(names)) {
		f := clusterLimits[name]
		f.name = name
		for _, one := range s.samples {
			f.series = append(f.series, soak.Point{At: one.at, Value: one.cluster[name]})
		}
		all = append(all, f)
	}
	return all
}

// requestFigures returns the requests of rounds that can be compared.
func (s *soakRun) requestFigures() []figure {
	f := figure{name: "API requests per minute, rounds of reboots without a fault", limit: soak.Limit{Factor: 1.5}, may: "1.5 ×, as rounds take different times"}
	for i, r := range s.done {
		if r.requests > 0 && r.soaks == nil && r.name == noFault.name && i < len(s.samples) {
			f.series = append(f.series, soak.Point{At: s.samples[i].at, Value: r.requests})
		}
	}
	return []figure{f}
}

// compactFigures returns etcd's data at the start and at the end. In a run of an hour its
// growth is Kubernetes' events, so it may double.
func (s *soakRun) compactFigures() []figure {
	f := figure{name: etcdData, may: "2 ×"}
	for _, c := range s.compacts {
		f.series = append(f.series, soak.Point{At: c.at, Value: c.mib})
	}
	if len(f.series) == 2 {
		f.most = 2 * f.series[0].Value
	}
	return []figure{f}
}

// byKind counts rounds, in the order of their names.
func byKind(rounds []soakRound, kind func(soakRound) string) []counted {
	counts := map[string]*counted{}
	for _, r := range rounds {
		c := counts[kind(r)]
		if c == nil {
			c = &counted{name: kind(r)}
			counts[c.name] = c
		}
		c.rounds++
		if r.passed {
			c.passed++
		}
		c.took = append(c.took, r.took)
	}
	var all []counted
	for _, c := range counts {
		slices.Sort(c.took)
		all = append(all, *c)
	}
	slices.SortFunc(all, func(a, b counted) int { return cmp.Compare(a.name, b.name) })
	return all
}
