package nodefacts

import (
	"fmt"
	"regexp"
	"strings"
)

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
