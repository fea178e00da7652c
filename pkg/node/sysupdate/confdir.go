package sysupdate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

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
