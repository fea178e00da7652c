package nodefacts

import (
	"maps"
	"slices"
	"strings"
)

// flags are a command line's: the values of each in their order, by its name
// without dashes.
type flags map[string][]string

// value is the last of the first name that has one.
func (f flags) value(names ...string) string {
	for _, name := range names {
		if values := f[name]; len(values) > 0 && values[len(values)-1] != "" {
			return values[len(values)-1]
		}
	}
	return ""
}

func (f flags) names() []string { return slices.Sorted(maps.Keys(f)) }

// gates are the feature gates that the flag of that name sets, as often as it is
// given: A=true,B=false.
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

// flagsOf are those that systemd would start a service with: of the unit's
// files, the environment that they set, and the files that they name for it. One
// of these may be thought to be without values.
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

// parseFlags takes --name=value, --name value and --name. What follows a flag
// that takes no value is taken for one, which no check asks for. Underscores are
// as good as dashes (WordSepNormalizeFunc in k8s.io/component-base/cli/flag).
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
