package nodefacts

import (
	"maps"
	"slices"
	"strings"
)

// flags are the flags of a command line: the values of each in their order, by its name
// without dashes.
type flags map[string][]string

// value returns the last value of the first of these flags that has one.
func (f flags) value(names ...string) string {
	for _, name := range names {
		if values := f[name]; len(values) > 0 && values[len(values)-1] != "" {
			return values[len(values)-1]
		}
	}
	return ""
}

func (f flags) names() []string { return slices.Sorted(maps.Keys(f)) }

// gates returns the feature gates that the flag with that name sets, such as A and B for
// A=true,B=false. The flag may be given several times.
func (f flags) gates(name string) []string {
	var list []string
	for _, value := range f[name] {
		for gate := range strings.SplitSeq(value, ",") {
			if gate, _, _ = strings.Cut(strings.TrimSpace(gate), "="); gate != "" {
				list = append(list, gate)
			}
		}
	}
	return list
}

// flagsOf returns the flags with which systemd starts a service, from the unit's files and
// its environment. The environment file emptied counts as if its variables were empty.
func (g *gatherer) flagsOf(name, emptied string) flags {
	u := g.unit(name)
	if u.fragment == "" || u.masked {
		return nil
	}
	var s service
	for _, path := range append([]string{u.fragment}, u.dropIns...) {
		s.add(string(g.readIfThere(path)))
	}
	args, err := s.arguments(g.environment(s, emptied))
	if err != nil {
		g.problem("reading how %s is started: %v", name, err)
		return nil
	}
	return parseFlags(args)
}

// parseFlags parses --name=value, --name value and --name. An argument after a flag without
// a value is read as its value; no check uses such flags. Underscores are equivalent to
// dashes (WordSepNormalizeFunc in k8s.io/component-base/cli/flag).
func parseFlags(args []string) flags {
	f := flags{}
	for i, arg := range args {
		if !strings.HasPrefix(arg, "-") {
			continue
		}
		name, value, given := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if !given && i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
			value = args[i+1]
		}
		if name = strings.ReplaceAll(name, "_", "-"); name != "" {
			f[name] = append(f[name], value)
		}
	}
	return f
}
