package cli_test

import (
	"math/rand/v2"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// usual are values that a flag accepts, and, of `verb NAME`, arguments that a verb accepts.
var usual = map[string][]string{
	"output": {"json", "yaml", "wide", "jsonpath={.kind}", "name"}, "filename": {"schedules.yaml"}, "migrate filename": {"workloads.yaml"}, "snapshot": {"snapshot.json"}, "save-snapshot": {"out.json", "link", "-"},
	"output-file": {"out.html", "out.md", "link", "-", "/dev/null"}, "for": {"2h", "1d"}, "until": {"2099-01-07T00:00:00Z"}, "from": {"2098-12-24T18:00:00Z"}, "at": {"2098-12-24 18:00"},
	"start-time": {"2099-12-24 18:00"}, "node-selector": {"pool=db"}, "selector": {"pool=db"}, "time-zone": {"UTC", "Europe/Berlin"}, "color": {"never"}, "reason": {"a reason"},
	"dry-run": {"client", "server"}, "timeout": {"1s"}, "count": {"3"}, "upgrades": {"Patch"}, "max-unavailable": {"20%"}, "method": {"Reboot"}, "ignore-check": {"etcd-single=a reason"}, "apply ignore-check": {"etcd-single,control-plane-pod,facts-missing=a reason"}, "ignore-gate": {"a=a reason"},
	"labels": {"pool=db"}, "type": {"Minor"}, "group": {"canary"}, "request-timeout": {"2s"}, "schedule": {"a"}, "node": {"w1"}, "windows": {"whole", "same"}, "kured daemonset": {"default/kured"}, "fluo daemonset": {"default/flatcar-linux-update-agent"},
	"source":      {"http://127.0.0.1:1"},
	"verb status": {"", "w1"}, "verb plan": {"", "v1.35.4"}, "verb rollback": {"w1"}, "verb reboot": {"", "w1"}, "verb renew": {"", "cp1"}, "to": {"v1.34.3"}, "verb apply": {"v1.34.5", "v1.35.4"}, "verb history": {"", "a"}, "verb report": {"v1.35.4"}, "verb freeze": {"", "b"}, "verb unfreeze": {"a", ""}, "verb block": {"v1.34.5"}, "verb unblock": {"v1.34.5"},
	"verb suspend": {"v1.35.4"}, "verb resume": {"v1.35.4"}, "verb approve": {"v1.35.4"}, "verb abandon": {"w1"}, "verb completion": {"bash", "kubectl"},
}

// needed are flags without which a verb, or a flag of a verb, does nothing, or little without a cluster.
var needed = map[string][]string{
	"freeze": {"for", "reason"}, "abandon": {"reason", "yes"}, "apply": {"yes", "ignore-check"}, "rollback": {"yes", "reason"}, "reboot": {"yes", "reason"}, "renew": {"yes", "reason"}, "plan": {"snapshot"}, "report": {"snapshot"}, "windows": {"filename"}, "migrate": {"yes", "filename"},
	"report timeout": {"follow"}, "report follow": {"output-file"}, "status timeout": {"watch"}, "migrate dry-run": {"apply"}, "migrate apply": {"selector"}, "migrate timeout": {"apply"},
}

// excludes are flags that a verb refuses together.
var excludes = map[string][]string{
	"for": {"until"}, "snapshot": {"save-snapshot"}, "filename": {"node", "apply", "undo"}, "labels": {"node"}, "output": {"output-file", "apply", "undo"}, "apply": {"undo"}, "follow": {"snapshot"}, "timeout": {"detach"}, "log": {"watch", "output"}, "certificates": {"upgrades"},
}

// excluded reports whether a verb refuses a flag together with one of those.
func excluded(name string, among []*pflag.Flag) bool {
	return slices.ContainsFunc(among, func(f *pflag.Flag) bool {
		return f.Name == name || slices.Contains(excludes[name], f.Name) || slices.Contains(excludes[f.Name], name)
	})
}

// pair is a verb and two of its flags, or all that it has.
type pair struct {
	path  []string // such as migrate kured
	verb  *cobra.Command
	flags []*pflag.Flag
}

// pairs returns each pair of each verb's own flags, mixed.
func pairs(verbs []*cobra.Command) (all []pair) {
	for _, verb := range verbs {
		all = append(all, pairsOf(verb, []string{verb.Name()})...)
	}
	random := rand.New(rand.NewPCG(28, 28))
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

func pairsOf(verb *cobra.Command, path []string) (all []pair) {
	for _, sub := range verb.Commands() {
		all = append(all, pairsOf(sub, append(slices.Clone(path), sub.Name()))...)
	}
	var flags []*pflag.Flag
	verb.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Name != "help" {
			flags = append(flags, f)
		}
	})
	if len(flags) < 2 {
		return append(all, pair{path, verb, flags})
	}
	for n, one := range flags {
		for _, other := range flags[n+1:] {
			all = append(all, pair{path, verb, []*pflag.Flag{one, other}})
		}
	}
	return all
}

// combine makes up an invocation with a pair of flags, and with what the verb needs besides. The
// first round through all pairs has nothing else; later ones have other flags and odd values, too.
// Each round gives the pair other values, until each value was given with each of the other flag.
func (i *invocation) combine(p pair, round int) {
	i.sane = true
	i.turns = map[string]int{}
	for n, turn := 0, round; n < len(p.flags); n++ {
		name := p.flags[n].Name
		i.turns[name] = turn
		turn /= max(len(usual[name]), 1)
	}
	i.args = slices.Clone(p.path)
	flags := slices.Clone(p.flags)
	add := func(f *pflag.Flag) {
		if f != nil && !excluded(f.Name, flags) {
			flags = append(flags, f)
		}
	}
	for n := 0; n < len(flags); n++ {
		for _, name := range needed[p.path[0]+" "+flags[n].Name] {
			add(p.verb.Flags().Lookup(name))
		}
	}
	live := i.random.IntN(2) == 0 // reads the cluster
	for _, name := range needed[p.path[0]] {
		if !live || name != "snapshot" && name != "filename" {
			add(p.verb.Flags().Lookup(name))
		}
	}
	odd := -1
	if round > 0 {
		for range i.random.IntN(3) {
			others := flagsOf(p.verb)
			add(others[i.random.IntN(len(others))])
		}
		if i.random.IntN(4) == 0 {
			odd = i.random.IntN(len(flags) + 1)
		}
	}
	i.random.Shuffle(len(flags), func(a, b int) { flags[a], flags[b] = flags[b], flags[a] })
	for n, flag := range flags {
		i.sane = n != odd
		i.args = append(i.args, i.given(flag, "--"+flag.Name)...)
	}
	i.sane = true
	words := usual["verb "+p.path[0]]
	if slices.ContainsFunc(flags, func(f *pflag.Flag) bool { return f.Name == "log" }) {
		words = []string{"w1"}
	}
	if len(words) > 0 {
		i.args = slices.DeleteFunc(append(i.args, i.pick(words)), func(word string) bool { return word == "" })
	}
}

// given returns the words that give a flag a value, in one of the ways that people type.
func (i *invocation) given(flag *pflag.Flag, name string) []string {
	short := flag.Shorthand != "" && i.random.IntN(2) == 0
	switch {
	case flag.NoOptDefVal != "" && flag.Value.Type() == "bool" && i.sane && short:
		return []string{"-" + flag.Shorthand}
	case flag.NoOptDefVal != "" && i.random.IntN(2) == 0, flag.Value.Type() == "bool" && i.sane:
		return []string{name}
	case flag.NoOptDefVal == "" && short:
		return []string{"-" + flag.Shorthand, i.value(flag)}
	case flag.NoOptDefVal == "" && i.random.IntN(2) == 0:
		return []string{name, i.value(flag)}
	}
	return []string{name + "=" + i.value(flag)}
}

// flagsOf returns the flags of a verb, but for those that decide where requests and other files go,
// and those with values for other clusters.
func flagsOf(verb *cobra.Command) (flags []*pflag.Flag) {
	add := func(f *pflag.Flag) {
		if !f.Hidden && !slices.Contains([]string{"kubeconfig", "help", "context"}, f.Name) {
			flags = append(flags, f)
		}
	}
	verb.Flags().VisitAll(add)
	verb.InheritedFlags().VisitAll(add)
	return flags
}
