package facts

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// unitDirs are the folders from which systemd loads units; the first that has the file
// prevails (systemd.unit(5)). Folders that only programs write to are omitted.
var unitDirs = []string{"/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system"}

// unit is a unit's files.
type unit struct {
	// fragment is the unit's own file. Empty: there is none.
	fragment string
	masked   bool
	// dropIns are in the order in which systemd reads them.
	dropIns []string
}

func (g *gatherer) unit(name string) unit {
	var u unit
	for _, dir := range unitDirs {
		path := filepath.Join(dir, name)
		if _, err := os.Lstat(g.At(path)); err == nil {
			u.fragment, u.masked = path, g.isNull(path)
			break
		}
	}
	u.dropIns = g.dropIns(name)
	return u
}

// dropIns returns the drop-ins of a unit, sorted by file name. Of those with the same name,
// only the one in the first folder counts.
func (g *gatherer) dropIns(unit string) []string {
	paths := map[string]string{}
	for _, dir := range unitDirs {
		dir = filepath.Join(dir, unit+".d")
		for _, name := range g.list(dir) {
			if _, there := paths[name]; !there && strings.HasSuffix(name, ".conf") {
				paths[name] = filepath.Join(dir, name)
			}
		}
	}
	names := make([]string, 0, len(paths))
	for name, path := range paths {
		if !g.isNull(path) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for i, name := range names {
		names[i] = paths[name]
	}
	return names
}

// isNull reports whether a file is empty or a link to /dev/null, which masks a unit or
// drop-in.
func (g *gatherer) isNull(path string) bool {
	if target, err := os.Readlink(g.At(path)); err == nil {
		return target == os.DevNull
	}
	info, err := os.Lstat(g.At(path))
	return err == nil && info.Mode().IsRegular() && info.Size() == 0
}

// wanted reports whether another unit pulls this one in by a link: in /etc if it was
// enabled, in /usr if the operating system's image has the link (as Flatcar's does).
func (g *gatherer) wanted(unit string) bool {
	for _, dir := range unitDirs {
		for _, kind := range []string{"wants", "requires"} {
			links, _ := filepath.Glob(g.At(dir, "*."+kind, unit))
			if len(links) > 0 {
				return true
			}
		}
	}
	return false
}

var errQuote = errors.New("a quotation mark is not closed")

// lines returns the lines of a unit or an environment file, without comments and empty
// lines. Lines that a backslash continues are joined (systemd.syntax(7)).
func lines(text string) []string {
	var all []string
	var begun string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") {
			continue
		}
		if more, ok := strings.CutSuffix(line, `\`); ok {
			begun += more + " "
			continue
		}
		if line = strings.TrimSpace(begun + line); line != "" {
			all = append(all, line)
		}
		begun = ""
	}
	if begun = strings.TrimSpace(begun); begun != "" {
		all = append(all, begun)
	}
	return all
}

// words splits text at white space outside quotation marks, and removes the marks.
func words(text string) ([]string, error) {
	var all []string
	var word strings.Builder
	var quote rune
	begun, escaped := false, false
	for _, r := range text {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			begun, escaped = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			begun, quote = true, r
		case quote == 0 && strings.ContainsRune(" \t\n\r", r):
			if begun {
				all = append(all, word.String())
				word.Reset()
			}
			begun = false
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if quote != 0 {
		return nil, errQuote
	}
	if begun {
		all = append(all, word.String())
	}
	return all, nil
}

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
