package migrate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
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

// expand replaces $(NAME) by the variable's value, as Kubernetes does in a command: an
// unknown name stays, and $$ is a dollar sign. unread is why a value is not known.
func (c Container) expand(word string) (expanded, unread string) {
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
				b.WriteString(v.Value)
				if v.Unread != "" {
					unread = v.Unread
				}
			} else {
				b.WriteString(word[:end+1])
			}
			word = word[end+1:]
		default:
			b.WriteByte('$')
			word = word[1:]
		}
	}
	return b.String() + word, unread
}
