package nodefacts

import (
	"maps"
	"path/filepath"
	"strings"
)

// environment returns the environment of a service. Values from files prevail over those
// in the unit. The variables of the file emptied are empty.
func (g *gatherer) environment(s service, emptied string) map[string]string {
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
			if err != nil {
				continue
			}
			values := environmentFile(string(g.readIfThere("/" + below)))
			if "/"+below == emptied {
				for name := range values {
					values[name] = ""
				}
			}
			maps.Copy(env, values)
		}
	}
	return env
}

// environmentFile parses a file that EnvironmentFile= names.
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
