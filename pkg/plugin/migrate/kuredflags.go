package migrate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// kuredFlag is one of kured's flags. becomes sets what the flag becomes in the result; a flag
// without it has the same row whatever its value.
// https://kured.dev/docs/configuration/, and cmd/kured/main.go of kured 1.23.
type kuredFlag struct {
	flagSpec
	becomes func(*kured, *Row, setting)
	meaning Meaning
	target  string // what to write instead
	note    string
	// secret reports whether the value may contain a password: it is not shown.
	secret bool
	// anyValue reports whether becomes needs no value: only that there is one.
	anyValue bool
}

// kuredFlags are all of kured's flags, in the order in which they are shown.
var kuredFlags = []kuredFlag{
	// When.
	{flagSpec: flagSpec{"reboot-days", list, "su,mo,tu,we,th,fr,sa"}, becomes: (*kured).window},
	{flagSpec: flagSpec{"start-time", text, "0:00"}, becomes: (*kured).window},
	{flagSpec: flagSpec{"end-time", text, "23:59:59"}, becomes: (*kured).window},
	{flagSpec: flagSpec{"time-zone", text, "UTC"}, becomes: (*kured).timeZone},
	{flagSpec: flagSpec{"period", duration, "1h"}, meaning: NotNeeded, note: "update_engine's signal is noticed at once, the file /run/reboot-required within five minutes"},

	// Which node needs a reboot.
	{flagSpec: flagSpec{"reboot-sentinel", text, "/var/run/reboot-required"}, becomes: (*kured).sentinel},
	{flagSpec: flagSpec{"reboot-sentinel-command", text, ""}, meaning: None, note: "no command is run on nodes; let what makes it succeed create /run/reboot-required"},

	// How many, and at what pace.
	{flagSpec: flagSpec{"concurrency", number, "1"}, becomes: (*kured).concurrency},
	{flagSpec: flagSpec{"lock-release-delay", duration, "0"}, becomes: (*kured).lockReleaseDelay},
	{flagSpec: flagSpec{"lock-ttl", duration, "0"}, meaning: None, note: "a slot does not expire, because its node may still be out of service; `kubectl upgrade abandon NODE` frees it"},
	{flagSpec: flagSpec{"lock-annotation", text, "weave.works/kured-node-lock"}, meaning: NotNeeded, note: "slots are Leases in the namespace kubectl-upgrade"},
	{flagSpec: flagSpec{"ds-name", text, "kured"}, meaning: NotNeeded, note: "slots are Leases in the namespace kubectl-upgrade"},
	{flagSpec: flagSpec{"ds-namespace", text, "kube-system"}, meaning: NotNeeded, note: "slots are Leases in the namespace kubectl-upgrade"},
	{flagSpec: flagSpec{"node-id", text, ""}, meaning: NotNeeded, note: "an agent knows its node"},

	// The drain.
	{flagSpec: flagSpec{"drain-timeout", duration, "0"}, becomes: (*kured).drainTimeout},
	{flagSpec: flagSpec{"drain-grace-period", number, "-1"}, becomes: (*kured).drainGracePeriod},
	{flagSpec: flagSpec{"force-reboot", boolean, "false"}, becomes: (*kured).forceReboot},
	{flagSpec: flagSpec{"blocking-pod-selector", array, ""}, becomes: (*kured).blockingPods},
	{flagSpec: flagSpec{"drain-pod-selector", text, ""}, becomes: (*kured).drainPods},
	{flagSpec: flagSpec{"drain-delay", duration, "0"}, meaning: None, note: "a node is cordoned and drained as soon as it has its slot"},
	{flagSpec: flagSpec{"skip-wait-for-delete-timeout", number, "0"}, meaning: None, note: "the drain waits until every pod is gone, up to strategy.drain.timeoutSeconds"},
	{flagSpec: flagSpec{"prefer-no-schedule-taint", text, ""}, meaning: None, note: "nodes that wait are not tainted: pods may be evicted more than once"},

	// The reboot.
	{flagSpec: flagSpec{"reboot-command", text, "/bin/systemctl reboot"}, meaning: None, note: "the agent asks logind for the reboot; a unit of the host can act before it (Before=reboot.target)"},
	{flagSpec: flagSpec{"reboot-method", text, "command"}, meaning: NotNeeded, note: "the agent asks logind for the reboot"},
	{flagSpec: flagSpec{"reboot-signal", number, "39"}, meaning: NotNeeded, note: "the agent asks logind for the reboot"},
	{flagSpec: flagSpec{"reboot-delay", duration, "0"}, meaning: None, note: "a node reboots as soon as it is drained"},

	// Alerts.
	{flagSpec: flagSpec{"prometheus-url", text, ""}, becomes: (*kured).prometheus, secret: true},
	{flagSpec: flagSpec{"alert-filter-regexp", text, ""}, becomes: (*kured).partOfAlerts},
	{flagSpec: flagSpec{"alert-filter-match-only", boolean, "false"}, becomes: (*kured).partOfAlerts},
	{flagSpec: flagSpec{"alert-firing-only", boolean, "false"}, becomes: (*kured).partOfAlerts},

	// What it tells.
	{flagSpec: flagSpec{"notify-url", text, ""}, becomes: (*kured).notifyURL, secret: true, anyValue: true},
	{flagSpec: flagSpec{"slack-hook-url", text, ""}, becomes: (*kured).slackHook, secret: true, anyValue: true},
	{flagSpec: flagSpec{"slack-username", text, "kured"}, becomes: (*kured).slackDetail},
	{flagSpec: flagSpec{"slack-channel", text, ""}, becomes: (*kured).slackDetail},
	{flagSpec: flagSpec{"message-template-drain", text, "Draining node %s"}, becomes: (*kured).messageTemplate},
	{flagSpec: flagSpec{"message-template-reboot", text, "Rebooting node %s"}, becomes: (*kured).messageTemplate},
	{flagSpec: flagSpec{"message-template-uncordon", text, "Node %s rebooted & uncordoned successfully!"}, becomes: (*kured).messageTemplate},
	{flagSpec: flagSpec{"annotate-nodes", boolean, "false"}, meaning: Nearest, target: "NodeUpgrade.status.step and steps", note: "each node's NodeUpgrade has its step and its times; Nodes get no such annotation"},
	{flagSpec: flagSpec{"pre-reboot-node-labels", list, ""}, meaning: None, note: "Nodes get no label; watch NodeUpgrade.status.step instead"},
	{flagSpec: flagSpec{"post-reboot-node-labels", list, ""}, meaning: None, note: "Nodes get no label; watch NodeUpgrade.status.step instead"},
	{flagSpec: flagSpec{"metrics-host", text, ""}, meaning: NotNeeded, note: "the coordinator serves the metrics of all nodes, over https with the rights of Kubernetes (docs/monitoring.md)"},
	{flagSpec: flagSpec{"metrics-port", number, "8080"}, meaning: NotNeeded, note: "see --metrics-host; NodeUpgrade.status.reboot.required says what kured_reboot_required does, no metric does"},
	{flagSpec: flagSpec{"log-format", text, "text"}, meaning: NotNeeded, note: "the programs log as key=value text"},
}

// row returns the flag's row, without what depends on its value.
func (f kuredFlag) row(s setting) Row {
	row := Row{Setting: "--" + f.name, Value: s.value(), Set: s.set(), Meaning: f.meaning, Becomes: f.target, Note: f.note}
	if s.from != "" && s.from != row.Setting {
		row.Setting = s.from
	}
	if f.secret && row.Value != "" {
		row.Value = "(not shown)"
	}
	return row
}

// kind adds a flag of that kind, without its default: the first value of a list would be added to that.
type kind func(flags *pflag.FlagSet, name string)

var (
	text     kind = func(flags *pflag.FlagSet, name string) { flags.String(name, "", "") }
	boolean  kind = func(flags *pflag.FlagSet, name string) { flags.Bool(name, false, "") }
	number   kind = func(flags *pflag.FlagSet, name string) { flags.Int(name, 0, "") }
	duration kind = func(flags *pflag.FlagSet, name string) { flags.Duration(name, 0, "") }
	list     kind = func(flags *pflag.FlagSet, name string) { flags.StringSlice(name, nil, "") } // separated by commas; may be repeated
	array    kind = func(flags *pflag.FlagSet, name string) { flags.StringArray(name, nil, "") } // may be repeated; commas belong to the value
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
	is, _ := strconv.ParseBool(s.value())
	return is
}

func (s setting) number() int {
	n, _ := strconv.ParseInt(s.value(), 0, 0)
	return int(n)
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
	flags      *pflag.FlagSet
}

// parse reads a command line. With singleDash, -flag is a flag, too, as for the standard library.
func (c Container) parse(specs []flagSpec, singleDash bool) commandLine {
	line := commandLine{settings: map[string]setting{}, flags: pflag.NewFlagSet("", pflag.ContinueOnError)}
	line.flags.Usage = func() {}
	for _, spec := range specs {
		spec.kind(line.flags, spec.name)
		line.settings[spec.name] = setting{values: strings.FieldsFunc(spec.fallback, func(r rune) bool { return r == ',' })}
	}
	for _, source := range c.Unread {
		line.cannotRead("the variables of %s were not read; -f FILE reads a manifest in which they are written out", source)
	}
	words := slices.Concat(c.Command[min(1, len(c.Command)):], c.Args)
	if len(c.Command) > 0 && strings.HasSuffix(c.Command[0], "sh") && slices.Contains(words, "-c") {
		line.cannotRead("flags in a script of %s are not read", c.Command[0])
		return line
	}
	for i, word := range words {
		words[i] = c.expand(word)
		if word := words[i]; singleDash && len(word) > 1 && word[0] == '-' && word[1] > '9' { // -1 is a value
			words[i] = "-" + word
		}
	}
	line.read(words)
	return line
}

// cannotRead adds a problem for which the flags are not known.
func (l *commandLine) cannotRead(format string, args ...any) {
	l.problems = append(l.problems, fmt.Sprintf(format, args...))
	l.unreadable = true
}

// read sets the flags. One that is not known, such as a newer version's, takes no word after it.
func (l *commandLine) read(words []string) {
	var unknown *pflag.NotExistError
	for errors.As(l.flags.ParseAll(words, func(*pflag.Flag, string) error { return nil }), &unknown) && unknown.GetSpecifiedShortnames() == "" {
		l.flags.AddFlag(&pflag.Flag{Name: unknown.GetSpecifiedName(), NoOptDefVal: "true"})
	}
	err := l.flags.ParseAll(words, func(flag *pflag.Flag, value string) error {
		l.change(flag, "--"+flag.Name, value)
		return nil
	})
	if missing, is := errors.AsType[*pflag.ValueRequiredError](err); is {
		l.problems = append(l.problems, fmt.Sprintf("--%s has no value", missing.GetSpecifiedName()))
	} else if err != nil {
		l.cannotRead("%v: the program does not start with that, and what follows it was not read", err)
	}
	for _, word := range l.flags.Args() {
		if _, why := cutUnread(word); why != "" {
			l.cannotRead("an argument is %s, and was not read", why)
		}
	}
}

// change sets a flag. Lists and arrays that were set before get more values.
func (l *commandLine) change(flag *pflag.Flag, from, value string) {
	before, known := l.settings[flag.Name]
	if !known {
		name, why := cutUnread(flag.Name)
		l.problems = append(l.problems, fmt.Sprintf("--%s is no flag of the program", name+why))
		l.unreadable = l.unreadable || why != ""
		return
	}
	value, unread := cutUnread(value)
	next := setting{values: []string{value}, from: from, unread: unread, problem: before.problem}
	if unread == "" && flag.Value.Set(value) != nil {
		next.problem = fmt.Sprintf("%q is not valid", value)
	}
	if many, is := flag.Value.(pflag.SliceValue); is && next.problem == "" {
		next.values, next.unread = many.GetSlice(), cmp.Or(before.unread, unread)
	}
	l.settings[flag.Name] = next
}

// Variable is a variable of a container's environment.
type Variable struct {
	Name, Value string
	// Unread is why the value is not known, such as "from Secret kube-system/slack".
	Unread string
}

// Container is a container's command line and environment.
type Container struct {
	Image     string
	Command   []string
	Args      []string
	Variables []Variable
	// Unread are ConfigMaps and Secrets whose variables are not known, such as "Secret
	// kube-system/kured": each may set any flag.
	Unread []string
	// HostPaths are the host's folders that it mounts, by the path in the container.
	HostPaths map[string]string
}

// variable returns the last variable of that name, as the container sees it.
func (c Container) variable(name string) (Variable, bool) {
	for _, v := range slices.Backward(c.Variables) {
		if v.Name == name {
			return v, true
		}
	}
	return Variable{}, false
}

// unreadMark stands in a text before and after why a part of it is not known. No argument has this byte.
const unreadMark = "\x00"

// text returns the value, or the marked reason why it is not known.
func (v Variable) text() string {
	if v.Unread != "" {
		return unreadMark + v.Unread + unreadMark
	}
	return v.Value
}

// cutUnread returns the text before what is not known, and why that is so.
func cutUnread(text string) (before, why string) {
	before, rest, _ := strings.Cut(text, unreadMark)
	why, _, _ = strings.Cut(rest, unreadMark)
	return before, why
}

// expand replaces $(NAME) by the variable's text, as Kubernetes does in a command: an
// unknown name stays, and $$ is a dollar sign.
func (c Container) expand(word string) string {
	var b strings.Builder
	for word != "" {
		start := strings.IndexByte(word, '$')
		if start < 0 || start == len(word)-1 {
			break
		}
		b.WriteString(word[:start])
		word = word[start:]
		end := strings.IndexByte(word, ')')
		switch {
		case word[1] == '$':
			b.WriteByte('$')
			word = word[2:]
		case word[1] == '(' && end > 0:
			if v, known := c.variable(word[2:end]); known {
				b.WriteString(v.text())
			} else {
				b.WriteString(word[:end+1])
			}
			word = word[end+1:]
		default:
			b.WriteByte('$')
			word = word[1:]
		}
	}
	return b.String() + word
}
