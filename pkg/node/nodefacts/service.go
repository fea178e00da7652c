package nodefacts

import (
	"fmt"
	"regexp"
	"strings"
)

// service has the settings in a unit's files that determine how it is started.
type service struct {
	environment, files []string
	start              string
}

// add adds the section [Service] of one file. An empty value resets what earlier files
// set.
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

// arguments returns the arguments of the command. A variable that is a word of its own is
// split into words; one in braces is not (systemd.service(5)).
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
