package migrate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// kind is how a flag is written.
type kind int

const (
	text     kind = iota
	boolean       // --flag alone means true, and takes no word after it
	number        //
	duration      // Go's
	list          // separated by commas; may be repeated
	array         // may be repeated; commas belong to the value
)

// flagSpec is a flag of another program.
type flagSpec struct {
	name     string
	kind     kind
	fallback string
}

// setting is the value of a flag.
type setting struct {
	values []string
	from   string // the flag or the variable that set it; empty: the default
	// unread is why the value is not known. problem is why the program does not accept it.
	unread, problem string
}

func (s setting) set() bool { return s.from != "" }

// value returns the value as a person would write it.
func (s setting) value() string { return strings.Join(s.values, ",") }

func (s setting) isTrue() bool {
	is, err := strconv.ParseBool(s.value())
	return err == nil && is
}

func (s setting) number() int {
	n, _ := strconv.Atoi(s.value())
	return n
}

func (s setting) duration() time.Duration {
	d, _ := time.ParseDuration(s.value())
	return d
}

// commandLine is the flags of a program, by name.
type commandLine struct {
	settings map[string]setting
	// problems are what the program would not accept, and what cannot be read.
	problems []string
	// unreadable reports whether the flags are not known at all.
	unreadable bool
}

// parse reads a command line as spf13/pflag does. With singleDash, -flag is a flag, too, as
// for the standard library.
func (c Container) parse(specs []flagSpec, singleDash bool) commandLine {
	line := commandLine{settings: map[string]setting{}}
	byName := map[string]flagSpec{}
	for _, spec := range specs {
		byName[spec.name] = spec
		line.settings[spec.name] = setting{values: values(spec.kind, spec.fallback)}
	}
	for _, source := range c.Unread {
		line.problems = append(line.problems, "the variables of "+source+" were not read; -f FILE reads a manifest in which they are written out")
		line.unreadable = true
	}
	words := slices.Concat(c.Command, c.Args)
	if len(c.Command) > 0 {
		words = words[1:]
		if shell := c.Command[0]; strings.HasSuffix(shell, "sh") && slices.Contains(words, "-c") {
			line.problems = append(line.problems, fmt.Sprintf("flags in a script of %s are not read", shell))
			line.unreadable = true
			return line
		}
	}
	for i := 0; i < len(words); i++ {
		word, unread := c.expand(words[i])
		name, is := strings.CutPrefix(word, "--")
		if !is && singleDash {
			name, is = strings.CutPrefix(word, "-")
		}
		if word == "--" {
			break
		}
		if !is || name == "" {
			continue
		}
		name, value, given := strings.Cut(name, "=")
		spec, known := byName[name]
		switch {
		case !known:
			line.problems = append(line.problems, fmt.Sprintf("--%s is no flag of the program", name))
			continue
		case !given && spec.kind == boolean:
			value = "true"
		case !given && i+1 == len(words):
			line.problems = append(line.problems, fmt.Sprintf("--%s has no value", name))
			continue
		case !given:
			i++
			value, unread = c.expand(words[i])
		}
		line.change(spec, "--"+name, value, unread)
	}
	return line
}

// change sets a flag. Lists and arrays that were set before get more values.
func (l *commandLine) change(spec flagSpec, from, value, unread string) {
	before := l.settings[spec.name]
	next := setting{values: values(spec.kind, value), from: from, unread: unread}
	if unread == "" {
		next.problem = wrong(spec.kind, value)
	}
	if before.set() && (spec.kind == list || spec.kind == array) {
		next.values = slices.Concat(before.values, next.values)
	}
	l.settings[spec.name] = next
}

// values splits a value.
func values(k kind, value string) []string {
	switch {
	case value == "" && (k == list || k == array):
		return nil
	case k == list:
		return strings.Split(value, ",")
	}
	return []string{value}
}

// wrong returns why a flag of that kind does not accept the value; empty if it does.
func wrong(k kind, value string) string {
	var err error
	switch k {
	case boolean:
		_, err = strconv.ParseBool(value)
	case number:
		_, err = strconv.Atoi(value)
	case duration:
		_, err = time.ParseDuration(value)
	}
	if err != nil {
		return fmt.Sprintf("%q is not valid", value)
	}
	return ""
}
