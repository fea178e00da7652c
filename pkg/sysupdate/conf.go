package sysupdate

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"

	templates "github.com/kubectl-upgrade/kubectl-upgrade/sysupdate"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
)

// Conf is what matters of a transfer definition (sysupdate.d(5)). There is no
// field for CurrentSymlink=: no conf that we write has one.
type Conf struct {
	// Line is the minor it offers, such as v1.34.
	Line string
	// Source is the folder that images come from, as Path= has it.
	Source string
	// Verify asks for a signed index.
	Verify bool
	// InstancesMax is how many images of the line may lie on the disk.
	InstancesMax int
	// Protect are patch numbers that vacuuming leaves alone.
	Protect []int
}

// minInstances leaves room for the running image, the one before and the next.
// One more than are protected is always allowed: systemd-sysupdate fails when
// it may remove none.
const minInstances = 3

// Target is where images go.
func (c Conf) Target() string { return host.ImagesDir }

var confTemplate = template.Must(template.New("conf").Parse(templates.KubernetesConf))

// Render is the conf's text.
func (c Conf) Render() string {
	c.Protect = slices.Compact(slices.Sorted(slices.Values(c.Protect)))
	c.InstancesMax = max(c.InstancesMax, minInstances, len(c.Protect)+1)
	var text strings.Builder
	if err := confTemplate.Execute(&text, c); err != nil {
		panic(fmt.Sprintf("rendering the embedded conf: %v", err))
	}
	return text.String()
}

var linePattern = regexp.MustCompile(`(?:^|\s)kubernetes-(v1\.(?:0|[1-9]\d*))\.@v-`)

// ParseConf reads a publisher's conf, or one of ours. It fails when the conf
// does not offer exactly one minor of Kubernetes from a URL.
func ParseConf(text string) (Conf, error) {
	keys := parseINI(text)
	last := func(key string) string {
		if values := keys[key]; len(values) > 0 {
			return values[len(values)-1]
		}
		return ""
	}
	lines := map[string]bool{}
	var conf Conf
	for _, m := range linePattern.FindAllStringSubmatch(strings.Join(keys["Source.MatchPattern"], " "), -1) {
		conf.Line = m[1]
		lines[m[1]] = true
	}
	if len(lines) != 1 {
		return Conf{}, fmt.Errorf("its MatchPattern %q is not that of one minor, such as kubernetes-v1.34.@v-%%a.raw", strings.Join(keys["Source.MatchPattern"], " "))
	}
	if t := last("Source.Type"); t != "url-file" {
		return Conf{}, fmt.Errorf("its source is of the type %q, not url-file", t)
	}
	if conf.Source = last("Source.Path"); conf.Source == "" {
		return Conf{}, errors.New("its source has no Path=")
	}
	conf.Verify = isTrue(last("Transfer.Verify"))
	conf.InstancesMax, _ = strconv.Atoi(last("Target.InstancesMax"))
	for _, word := range strings.Fields(strings.Join(keys["Transfer.ProtectVersion"], " ")) {
		if patch, err := strconv.Atoi(word); err == nil {
			conf.Protect = append(conf.Protect, patch)
		}
	}
	return conf, nil
}

// parseINI gives the values of each Section.Key (systemd.syntax(7)); an empty
// one resets those before it.
func parseINI(text string) map[string][]string {
	keys := map[string][]string{}
	section := ""
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if line[0] == '[' {
			section = strings.Trim(line, "[]")
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		key = section + "." + strings.TrimSpace(key)
		if value = strings.TrimSpace(value); value == "" {
			delete(keys, key)
			continue
		}
		keys[key] = append(keys[key], value)
	}
	return keys
}

// isTrue reads a boolean as systemd does; Verify= is on when it is not there.
func isTrue(value string) bool {
	switch strings.ToLower(value) {
	case "0", "no", "n", "false", "f", "off":
		return false
	default:
		return true
	}
}
