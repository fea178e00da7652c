package nodefacts

import (
	"maps"
	"path/filepath"
	"strings"
)

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
