package nodefacts

import (
	"maps"
	"slices"
	"strings"
)

// flags are a command line's, by their names without dashes.
type flags map[string]string

func (f flags) value(names ...string) string {
	for _, name := range names {
		if value := f[name]; value != "" {
			return value
		}
	}
	return ""
}

func (f flags) names() []string { return slices.Sorted(maps.Keys(f)) }

// flagsOf are those that systemd would start a service with: of the unit's
// files, the environment that they set, and the files that they name for it.
func (g *gatherer) flagsOf(name string) flags {
	u := g.unit(name)
	if u.fragment == "" || u.masked {
		return nil
	}
	var s service
	for _, path := range append([]string{u.fragment}, u.dropIns...) {
		s.add(string(g.readIfThere(path)))
	}
	args, err := s.arguments(g.environment(s))
	if err != nil {
		g.problem("reading how %s is started: %v", name, err)
		return nil
	}
	return parseFlags(args)
}

// parseFlags takes --name=value, --name value and --name. What follows a flag
// that takes no value is taken for one, and nobody asks for it.
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
		if name != "" {
			f[name] = value
		}
	}
	return f
}
