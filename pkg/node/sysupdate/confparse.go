package sysupdate

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/coreos/go-systemd/v22/unit"
)

var linePattern = regexp.MustCompile(`(?:^|\s)kubernetes-(v1\.(?:0|[1-9]\d*))\.@v-`)

// ParseConf parses a conf of a publisher or one that Render returned. It returns an
// error if the conf does not offer exactly one minor of Kubernetes from a URL.
func ParseConf(text string) (Conf, error) {
	keys, err := parseKeys(text)
	if err != nil {
		return Conf{}, err
	}
	last := func(key string) string {
		if values := keys[key]; len(values) > 0 {
			return values[len(values)-1]
		}
		return ""
	}
	patterns := strings.Join(keys["Source.MatchPattern"], " ")
	lines := map[string]bool{}
	var conf Conf
	for _, m := range linePattern.FindAllStringSubmatch(patterns, -1) {
		conf.Line = m[1]
		lines[m[1]] = true
	}
	if len(lines) != 1 {
		return Conf{}, fmt.Errorf("its MatchPattern %q is not that of one minor, such as kubernetes-v1.34.@v-%%a.raw", patterns)
	}
	if t := last("Source.Type"); t != "url-file" {
		return Conf{}, fmt.Errorf("its source is of the type %q, not url-file", t)
	}
	if conf.Source = last("Source.Path"); conf.Source == "" {
		return Conf{}, errors.New("its source has no Path=")
	}
	conf.Verify = isTrue(last("Transfer.Verify"))
	conf.InstancesMax, _ = strconv.Atoi(last("Target.InstancesMax"))
	return conf, nil
}

// comments matches the lines that systemd ignores, even within a continued value. They
// are removed because the library treats such a line as part of the value, and the line
// after a comment that ends in a backslash as part of the comment.
var comments = regexp.MustCompile(`(?m)^[ \t]*[#;].*\n?`)

// parseKeys returns the values of each Section.Key. An empty value clears the values
// before it (systemd.syntax(7)).
func parseKeys(text string) (map[string][]string, error) {
	options, err := unit.DeserializeOptions(strings.NewReader(comments.ReplaceAllString(text, "")))
	if err != nil {
		return nil, err
	}
	keys := map[string][]string{}
	for _, o := range options {
		key := o.Section + "." + o.Name
		if o.Value == "" {
			delete(keys, key)
			continue
		}
		keys[key] = append(keys[key], strings.ReplaceAll(o.Value, "\\\n", " "))
	}
	return keys, nil
}

// isTrue parses a boolean of systemd. It returns true for "", the default of Verify=.
func isTrue(value string) bool {
	switch strings.ToLower(value) {
	case "0", "no", "n", "false", "f", "off":
		return false
	default:
		return true
	}
}
