package nodefacts

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
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

// service is what a unit's files say of how to start it.
type service struct {
	environment, files []string
	start              string
}

// add takes in one file's section [Service]. An empty value takes back what the
// files before said.
func (s *service) add(text string) {
	section := ""
	for _, line := range lines(text) {
		if strings.HasPrefix(line, "[") {
			section = line
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if section != "[Service]" || !ok {
			continue
		}
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(key) {
		case "Environment":
			s.environment = addOrReset(s.environment, value)
		case "EnvironmentFile":
			s.files = addOrReset(s.files, value)
		case "ExecStart":
			s.start = value
		}
	}
}

func addOrReset(list []string, value string) []string {
	if value == "" {
		return nil
	}
	return append(list, value)
}

// environment of a service: what the files say goes before what the unit says.
func (g *gatherer) environment(s service) map[string]string {
	env := map[string]string{}
	for _, line := range s.environment {
		assignments, err := words(line)
		if err != nil {
			g.problem("reading Environment=%s: %v", line, err)
		}
		for _, assignment := range assignments {
			name, value, _ := strings.Cut(assignment, "=")
			env[name] = value
		}
	}
	for _, pattern := range s.files {
		pattern = strings.TrimPrefix(pattern, "-")
		paths, _ := filepath.Glob(g.At(pattern))
		for _, path := range paths {
			below, err := filepath.Rel(g.Dir, path)
			if err == nil {
				maps.Copy(env, environmentFile(string(g.readIfThere("/"+below))))
			}
		}
	}
	return env
}

func environmentFile(text string) map[string]string {
	env := map[string]string{}
	for _, line := range lines(text) {
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			continue
		}
		value = strings.TrimSpace(value)
		if n := len(value); n > 1 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
			value = value[1 : n-1]
		}
		env[strings.TrimSpace(name)] = value
	}
	return env
}

var variable = regexp.MustCompile(`\$\{(\w+)\}`)

// arguments of the command. A variable that is a word of its own becomes as
// many words as it has; one in braces stays one (systemd.service(5)).
func (s service) arguments(env map[string]string) ([]string, error) {
	command, err := words(s.start)
	if err != nil || len(command) == 0 {
		return nil, err
	}
	var args []string
	for _, word := range command[1:] {
		name, alone := strings.CutPrefix(word, "$")
		if !alone || strings.HasPrefix(name, "{") || strings.HasPrefix(name, "$") {
			args = append(args, variable.ReplaceAllStringFunc(word, func(v string) string { return env[v[2:len(v)-1]] }))
			continue
		}
		more, err := words(env[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		args = append(args, more...)
	}
	return args, nil
}

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
