package cli_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// scheduleTexts are objects in files of schedules: good ones, and ones that are nearly good.
func scheduleTexts() []string {
	const good = "apiVersion: kubectl-upgrade.dev/v1alpha1\nkind: MaintenanceSchedule\nmetadata:\n  name: a\nspec:\n  timeZone: Europe/Berlin\n  maintenanceWindows:\n    - name: w\n      startTime: \"2026-01-03T01:00:00Z\"\n      endTime: \"2026-01-03T05:00:00Z\"\n      recurrence: FREQ=WEEKLY;BYDAY=SA\n"
	texts := []string{
		good, good, good, strings.Replace(good, "maintenanceWindows", "maintenanceExclusions", 1),
		"{apiVersion: kubectl-upgrade.dev/v1alpha1, kind: MaintenanceSchedule, metadata: {name: f}, spec: {}}\n",
		`{"apiVersion": "kubectl-upgrade.dev/v1alpha1", "kind": "MaintenanceSchedule", "metadata": {"name": "j"}, "spec": {}}` + "\n",
	}
	for _, change := range []string{
		"Europe/Berlin=localtime", "Europe/Berlin=Europe/Atlantis", "BYDAY=SA=BYDAY=SAT", "WEEKLY=HOURLY", "T05:=T00:", "name: w=name: W", "name: a=name: A_b", "name: a=name: ", "  timeZone=  timezone",
		"2026-01-03T01=2026-02-30T01", "v1alpha1=v1", "MaintenanceSchedule=ConfigMap", "SA=SA;COUNT=1000000", "\"2026=2026", "    - name=    -name", "spec:=spec: null\nx:",
	} {
		from, to, _ := strings.Cut(change, "=")
		texts = append(texts, strings.Replace(good, from, to, 1))
	}
	return texts
}

// invocation is one call of the plugin.
type invocation struct {
	args, objects []string // objects are the texts in schedules.yaml
	kubeconfig    string
	input         string
	sane          bool           // made of what verbs accept
	turns         map[string]int // which of its usual values a flag gets
	random        *rand.Rand
}

// words are values of arguments: good ones for some flag, and ones that people type by mistake.
var words = []string{
	"", " ", "a", "A_b", "-", "--", "-1", "0", "1", "5", "101%", "20%", "99999999999999999999", "1d", "90m", "2h30m", "soon", "true", "yes", "none", "client", "server",
	"v1.34", "v1.34.4", "1.35", "v1.35.4", "v9.9.9", "latest", "2026-12-24 18:00", "2026-12-24T18:00:00Z", "2026-02-30T00:00:00Z", "Europe/Berlin", "localtime", "UTC", "Mars/Phobos",
	"json", "yaml", "wide", "name", "html", "markdown", "jsonpath={.items[*].metadata.name}", "jsonpath={.items", "jsonpath={..name}", "jsonpath={end}", "custom-columns=A:.metadata.name", "go-template={{.kind}}", "go-template={{index .items 100}}", "xml",
	"pool=db", "pool=db,pool=web", "pool!=db", "pool in (a, b)", "pool in (a", "!gpu", "=", "Patch", "minor", "Reboot", "Sunday", "etcd-single=a reason", "w1", "node/w1", "clusterupgrade/v1.35.4", "kubectl-upgrade",
	"\x1b[31mred\x1b[0m", "ü", "\xff\xfe", strings.Repeat("a", 10_000), "$(id)", "../..", "bash", "fish", "kubectl", "kured", "--help", "--yes", "-o", "6",
}

// files are what is in the folder, and paths beside it.
var files = []string{
	"schedules.yaml", "schedules.yaml", "schedules.yaml", "snapshot.json", "snapshot.json", "empty", "bytes", "folder", "missing", "link", "dangling", "out.html", "out.md", "out.json", "out.xyz", "missing/out.html", "-", "/dev/null", "/dev/full", "log",
}

func (i *invocation) pick(from []string) string { return from[i.random.IntN(len(from))] }

// value returns a value for a flag: often of its kind.
func (i *invocation) value(flag *pflag.Flag) string {
	good := usual[flag.Name]
	for _, word := range i.args {
		if its, found := usual[word+" "+flag.Name]; found {
			good = its
		}
	}
	turn, its := i.turns[flag.Name]
	switch {
	case i.sane && len(good) > 0 && its:
		return good[turn%len(good)]
	case i.sane && len(good) > 0:
		return i.pick(good)
	}
	switch kind := i.random.IntN(10); {
	case strings.Contains(flag.Name, "file") || strings.Contains(flag.Name, "snapshot") || strings.Contains(flag.Name, "log"):
		return i.pick(files)
	case kind < 2 && flag.DefValue != "":
		return flag.DefValue
	}
	return i.pick(words)
}

// invocation makes up the invocation of a seed: two of three are combinations of flags that go
// together.
func (m *machine) invocation(seed uint64) *invocation {
	i := &invocation{random: rand.New(rand.NewPCG(seed, 28)), kubeconfig: m.kubeconfigs[0]}
	if combined := seed%3 != 0; combined {
		number := int(seed/3*2 + seed%3 - 1)
		round := number / len(m.pairs)
		m.addObjects(i, combined, round == 0 || i.random.IntN(2) == 0)
		i.combine(m.pairs[number%len(m.pairs)], round)
	} else {
		m.addObjects(i, combined, false)
		m.scatter(i)
	}
	if mayWait(i.args) {
		i.args = append(i.args, "--timeout=1s")
	}
	i.input = i.pick([]string{"", "yes\n", "no\n", strings.Join(i.objects, "---\n")})
	return i
}

// addObjects makes up the objects of a file: good ones only, or others, too.
func (m *machine) addObjects(i *invocation, combined, good bool) {
	alone := i.random.IntN(2) == 0 // one object, whose faults no other hides
	count := i.random.IntN(4)
	if good {
		count = max(count, 1)
	}
	for n := range count {
		text := i.pick(m.schedules)
		switch {
		case alone && n > 0:
			continue
		case good, !alone && combined && i.random.IntN(4) > 0:
			text = m.schedules[0]
		}
		i.objects = append(i.objects, strings.Replace(text, "name: a\n", fmt.Sprintf("name: a%d\n", n), 1))
	}
}

// scatter makes up an invocation of anything that people may type.
func (m *machine) scatter(i *invocation) {
	if i.random.IntN(2) == 0 {
		i.kubeconfig = i.pick(m.kubeconfigs)
	}
	verb := m.verbs[i.random.IntN(len(m.verbs))]
	if i.random.IntN(4) == 0 {
		verb = m.verbs[slices.IndexFunc(m.verbs, func(v *cobra.Command) bool { return v.Name() == "windows" })]
	}
	i.args = []string{verb.Name()}
	if sub := verb.Commands(); len(sub) > 0 && i.random.IntN(4) > 0 {
		verb = sub[i.random.IntN(len(sub))]
		i.args = append(i.args, verb.Name())
	}
	if i.random.IntN(10) == 0 {
		i.args[0] = i.pick(words)
	}
	var flags []*pflag.Flag
	verb.Flags().VisitAll(func(f *pflag.Flag) { flags = append(flags, f) })
	verb.InheritedFlags().VisitAll(func(f *pflag.Flag) { flags = append(flags, f) })
	// These decide where requests and other files go.
	flags = slices.DeleteFunc(flags, func(f *pflag.Flag) bool {
		return slices.Contains([]string{"server", "kubeconfig", "cache-dir", "proxy-url", "help"}, f.Name)
	})
	for range i.random.IntN(6) {
		flag := flags[i.random.IntN(len(flags))]
		name := "--" + flag.Name
		if i.random.IntN(12) == 0 {
			name += "x"
		}
		i.args = append(i.args, i.given(flag, name)...)
	}
	if flag := verb.Flags().Lookup("filename"); flag != nil && i.random.IntN(2) == 0 {
		i.args = append(i.args, "-f", i.value(flag))
	}
	for i.random.IntN(2) == 0 {
		i.args = append(i.args, i.pick(words))
	}
}

// mayWait reports whether the invocation may follow an upgrade for long.
func mayWait(args []string) bool {
	given := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			return slices.ContainsFunc(args, func(arg string) bool { return arg == name || strings.HasPrefix(arg, name+"=") })
		})
	}
	unlimited := !given("--timeout") || slices.ContainsFunc(args, func(arg string) bool {
		return slices.Contains([]string{"0", "1d", "90m", "2h30m", "30m"}, strings.TrimPrefix(arg, "--timeout="))
	})
	return unlimited && (slices.Contains([]string{"apply", "rollback", "reboot"}, args[0]) && !given("--detach") || given("-w", "--watch", "--follow", "--apply", "--undo"))
}
