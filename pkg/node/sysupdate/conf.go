package sysupdate

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/coreos/go-systemd/v22/unit"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// Conf has the settings of a transfer definition (sysupdate.d(5)) that are kept. It has
// no field for CurrentSymlink=, because no conf that is written has this setting.
type Conf struct {
	// Line is the minor it offers, such as v1.34.
	Line string
	// Source is the folder that images come from, the value of Path=.
	Source string
	// Target is the folder that images are put into. Empty: host.ImagesDir.
	Target string
	// Verify requires a signed index.
	Verify bool
	// InstancesMax is how many images of the minor may be on the disk.
	InstancesMax int
}

// patchOf returns what follows the minor in a version, such as 4 or 0-rc.1. This is
// what @v matches: systemd-sysupdate takes it for the version.
func patchOf(v version.Version) string { return strings.TrimPrefix(v.String(), v.Line()+".") }

// written begins each definition that Render returns.
const written = "# Written by kubectl-upgrade"

const header = written + `, which stages and activates Kubernetes images on
# this node. Whoever else runs systemd-sysupdate may download newer patches
# with this file, and cannot activate one (there is no CurrentSymlink=). The
# images that are needed are kept in ` + host.KeptDir + `.
`

// Render returns the conf's text.
func (c Conf) Render() string {
	var options []*unit.UnitOption
	set := func(section, name, value string) {
		options = append(options, unit.NewUnitOption(section, name, value))
	}
	set("Transfer", "Verify", strconv.FormatBool(c.Verify))
	pattern := "kubernetes-" + c.Line + ".@v-%a.raw"
	set("Source", "Type", "url-file")
	set("Source", "Path", c.Source)
	set("Source", "MatchPattern", pattern)
	if c.InstancesMax > 0 {
		set("Target", "InstancesMax", strconv.Itoa(c.InstancesMax))
	}
	set("Target", "Type", "regular-file")
	set("Target", "Path", cmp.Or(c.Target, host.ImagesDir))
	set("Target", "MatchPattern", pattern)
	text := bytes.NewBufferString(header)
	_, _ = text.ReadFrom(unit.Serialize(options)) // from memory, which does not fail
	return text.String()
}

// confFile is a file of the node's own definitions.
type confFile struct {
	name string
	text string
	conf Conf
}

// Confs returns the names of the node's own definitions. The error has the reason
// ConfConflict if they are for more than one minor: it is then unclear which one is
// meant, and systemd-sysupdate would offer only versions that are in both.
func Confs(l host.Layout) ([]string, error) {
	files, err := readConfs(l)
	names := make([]string, 0, len(files))
	for _, f := range files {
		names = append(names, f.name)
	}
	return names, err
}

// readConfs accepts one .conf and one .transfer of the same minor. Up to version 256
// systemd-sysupdate reads only .conf; later versions read .conf only if there is no
// .transfer. Both are kept right, so that it does not matter which one is read.
func readConfs(l host.Layout) ([]confFile, error) {
	entries, err := os.ReadDir(l.At(host.ConfDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing the node's sysupdate definitions: %w", err)
	}
	var files []confFile
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); strings.HasPrefix(e.Name(), ".") || ext != ".conf" && ext != ".transfer" {
			continue
		}
		text, err := os.ReadFile(l.At(host.ConfDir, e.Name()))
		if err != nil {
			return nil, fmt.Errorf("reading a sysupdate definition: %w", err)
		}
		if masked := len(text) == 0; !masked {
			files = append(files, confFile{name: e.Name(), text: string(text)})
		}
	}
	return files, parseConfs(files)
}

// parseConfs parses each file, and returns the first error.
func parseConfs(files []confFile) (first error) {
	byExt := map[string]string{}
	fail := func(format string, args ...any) {
		if first == nil {
			first = host.Fail(v1alpha1.ReasonConfConflict, format, args...)
		}
	}
	for i := range files {
		f := &files[i]
		var err error
		if f.conf, err = ParseConf(f.text); err != nil {
			fail("%s/%s is not valid: %w", host.ConfDir, f.name, err)
		}
		other, taken := byExt[filepath.Ext(f.name)]
		if !taken && f.conf.Line != files[0].conf.Line {
			other, taken = files[0].name, true
		}
		if taken {
			fail("%s has %s and %s: remove the one that is not for the minor that runs on this node", host.ConfDir, other, f.name)
		}
		byExt[filepath.Ext(f.name)] = f.name
	}
	return first
}

// setConfs changes the node's own definitions to offer one minor and to activate
// nothing. There is exactly one conf at any moment: first its text changes, then its
// name. If the node has no conf, none is made. setConfs returns the conf's name, and
// a note for each conf that was for another minor.
func setConfs(l host.Layout, files []confFile, line string) (name string, notes []string, err error) {
	for _, f := range files {
		want := f.conf
		want.Line = line
		if text := want.Render(); text != f.text {
			if err := keepOriginal(l, f); err != nil {
				return "", nil, err
			}
			if err := host.WriteFile(l.At(host.ConfDir, f.name), []byte(text), 0o644); err != nil {
				return "", nil, fmt.Errorf("writing %s/%s: %w", host.ConfDir, f.name, err)
			}
		}
		if f.conf.Line != line {
			notes = append(notes, fmt.Sprintf("%s offered %s and was set to %s", f.name, f.conf.Line, line))
		}
		if name, err = renameConf(l, f.name, line); err != nil {
			return "", nil, err
		}
	}
	return name, notes, nil
}

// confName returns the name of a conf for a minor: the same, unless it has a minor.
func confName(name, line string) string {
	if !strings.HasPrefix(name, "kubernetes-v1.") {
		return name
	}
	return "kubernetes-" + line + filepath.Ext(name)
}

// renameConf renames a conf after the minor that it offers, if its name has a minor.
func renameConf(l host.Layout, name, line string) (string, error) {
	wanted := confName(name, line)
	if name == wanted {
		return name, nil
	}
	if err := os.Rename(l.At(host.ConfDir, name), l.At(host.ConfDir, wanted)); err != nil {
		return "", fmt.Errorf("renaming a sysupdate definition: %w", err)
	}
	return wanted, host.SyncDir(l.At(host.ConfDir))
}

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
