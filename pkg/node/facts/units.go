package facts

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/dbus"
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

// words splits text at white space outside quotation marks, and removes the marks. The last may be missing.
func words(text string) (all []string) {
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
	if begun {
		all = append(all, word.String())
	}
	return all
}

// service is what systemd says about a service: how it starts it, after it has read the unit's
// files, and what runs.
type service struct {
	// command has variables as they are written in ExecStart=.
	command []string
	// environment are assignments, and files the patterns of EnvironmentFile=.
	environment, files []string
	// main is the ID of the main process; 0 if none runs, or systemd does not know it.
	main int
	// changed reports whether the unit's files may have changed since systemd read them.
	changed bool
}

// systemdWithin is how long systemd may take to answer, which waits while it reads all units; it is libdbus's default.
const systemdWithin = 25 * time.Second

// askSystemd asks systemd about a service. A service that does not exist, or is masked, has no command.
func askSystemd(ctx context.Context, name string) (service, error) {
	ctx, cancel := context.WithTimeout(ctx, systemdWithin)
	defer cancel()
	systemd, err := dbus.NewSystemdConnectionContext(ctx)
	if err != nil {
		return service{}, err
	}
	defer systemd.Close()
	properties, err := systemd.GetAllPropertiesContext(ctx, name)
	if err != nil {
		return service{}, err
	}
	s := service{}
	s.changed, _ = properties["NeedDaemonReload"].(bool)
	main, _ := properties["MainPID"].(uint32)
	s.main = int(main)
	s.environment, _ = properties["Environment"].([]string)
	files, _ := properties["EnvironmentFiles"].([][]any) // a(sb)
	for _, file := range files {
		pattern, _ := file[0].(string)
		s.files = append(s.files, pattern)
	}
	commands, _ := properties["ExecStart"].([][]any) // a(sasbttttuii)
	for _, command := range commands {
		s.command, _ = command[1].([]string)
	}
	return s, nil
}

var variable = regexp.MustCompile(`\$\{(\w+)\}`)

// arguments returns the arguments of the command. A variable that is a word of its own is
// split into words; one in braces is not (systemd.service(5)).
func (s service) arguments(env map[string]string) (args []string) {
	for _, word := range s.command[min(1, len(s.command)):] {
		name, alone := strings.CutPrefix(word, "$")
		if !alone || strings.HasPrefix(name, "{") || strings.HasPrefix(name, "$") {
			word = variable.ReplaceAllStringFunc(word, func(v string) string { return env[v[2:len(v)-1]] })
			args = append(args, word)
		} else {
			args = append(args, words(env[name])...)
		}
	}
	return args
}

// environment returns the environment of a service. Values from files prevail over those
// in the unit. The variables of the file emptied are empty.
func (g *gatherer) environment(s service, emptied string) map[string]string {
	env := map[string]string{}
	for _, text := range s.environment {
		name, value, _ := strings.Cut(text, "=")
		env[name] = value
	}
	for _, pattern := range s.files {
		for _, path := range g.matching("/", pattern) {
			values := environmentFile(string(g.readIfThere(path)))
			if path == emptied {
				for name := range values {
					values[name] = ""
				}
			}
			maps.Copy(env, values)
		}
	}
	return env
}

var (
	comment    = regexp.MustCompile(`(?s)^[#;](\\.|[^\\\n\r])*`)
	assignment = regexp.MustCompile(`^([^=\n\r]*)=`)
	name       = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// environmentFile parses a file that EnvironmentFile= names, as systemd's parse_env_file does.
func environmentFile(text string) map[string]string {
	env := map[string]string{}
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimLeft(text, " \t\n\r") {
		key := assignment.FindString(text)
		switch skipped := comment.FindString(text); {
		case skipped != "":
			text = text[len(skipped):]
		case key == "":
			_, text, _ = strings.Cut(text, "\n")
		default:
			value, length := environmentValue(text[len(key):])
			text = text[len(key)+length:]
			if key = strings.TrimSpace(strings.TrimSuffix(key, "=")); name.MatchString(key) {
				env[key] = value
			}
		}
	}
	return env
}

// environmentValue parses a value up to the end of its line, and returns how long that text is. Quotation marks count only
// before a value's first other character.
func environmentValue(text string) (value string, length int) {
	var b strings.Builder
	var quote byte
	begun, kept := false, 0 // kept is the length without white space at the end
	i := 0
	for ; i < len(text) && (quote != 0 || text[i] != '\n' && text[i] != '\r'); i++ {
		c := text[i]
		escaped := c == '\\' && quote != '\'' && i+1 < len(text)
		switch {
		case escaped:
			i++
			if quote == '"' && !strings.ContainsRune("\"\\`$\n", rune(text[i])) {
				b.WriteByte(c)
			}
			if begun = quote == 0; text[i] != '\n' {
				b.WriteByte(text[i])
			}
		case c == quote:
			quote, begun = 0, false
		case quote == 0 && !begun && (c == '"' || c == '\''):
			quote = c
		case quote == 0 && (c == ' ' || c == '\t'):
			if begun {
				b.WriteByte(c)
			}
			continue
		default:
			begun = quote == 0
			b.WriteByte(c)
		}
		kept = b.Len()
	}
	return b.String()[:kept], i
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

// service returns what systemd says about a service.
func (g *gatherer) service(name string) service {
	s, err := g.ask(name)
	if err != nil {
		g.problem("asking systemd how %s is started: %v", name, err)
	}
	if s.changed {
		g.problem("systemd asks for systemctl daemon-reload: until then it is not known how %s will be started", name)
	}
	return s
}

// flagsOf returns the flags with which a service is started. The environment file emptied counts as if its variables
// were empty.
func (g *gatherer) flagsOf(s service, emptied string) flags {
	return parseFlags(s.arguments(g.environment(s, emptied)))
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
