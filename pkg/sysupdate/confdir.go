package sysupdate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
)

// confFile is a file of the node's own definitions.
type confFile struct {
	name string
	text string
	conf Conf
}

// Confs are the files of the node's own definitions, and an error with reason
// ConfConflict when they are not those of one minor: then nobody can say which
// one is meant, and systemd-sysupdate would offer only what both have.
func Confs(l host.Layout) ([]string, error) {
	files, err := readConfs(l)
	names := make([]string, 0, len(files))
	for _, f := range files {
		names = append(names, f.name)
	}
	return names, err
}

// readConfs accepts one .conf and one .transfer of the same minor: from 257 on
// systemd-sysupdate reads the former only where there is none of the latter,
// and before it knows the former alone. Whichever it reads must be ours.
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

func parseConfs(files []confFile) error {
	byExt := map[string]string{}
	for i := range files {
		f := &files[i]
		var err error
		if f.conf, err = ParseConf(f.text); err != nil {
			return host.Fail(v1alpha1.ReasonConfConflict, "%s/%s cannot be understood: %w", host.ConfDir, f.name, err)
		}
		other, taken := byExt[filepath.Ext(f.name)]
		if !taken && f.conf.Line != files[0].conf.Line {
			other, taken = files[0].name, true
		}
		if taken {
			return host.Fail(v1alpha1.ReasonConfConflict,
				"%s has %s and %s: remove the one that is not of the minor that runs here", host.ConfDir, other, f.name)
		}
		byExt[filepath.Ext(f.name)] = f.name
	}
	return nil
}

// setConfs has the node's own definitions offer one minor, and protect images.
// At any moment there is exactly one conf: its text changes first, then its
// name. A node without any stays without. It returns the conf's name and a
// note for each change that nobody asked for.
func setConfs(l host.Layout, files []confFile, line string, protect []string) (name string, notes []string, err error) {
	for _, f := range files {
		want := f.conf
		want.Line, want.Protect = line, protect
		if text := want.Render(); text != f.text {
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

// renameConf keeps a name that does not speak of a minor.
func renameConf(l host.Layout, name, line string) (string, error) {
	ext := filepath.Ext(name)
	wanted := "kubernetes-" + line + ext
	if name == wanted || !strings.HasPrefix(name, "kubernetes-v1.") {
		return name, nil
	}
	if err := os.Rename(l.At(host.ConfDir, name), l.At(host.ConfDir, wanted)); err != nil {
		return "", fmt.Errorf("renaming a sysupdate definition: %w", err)
	}
	return wanted, host.SyncDir(l.At(host.ConfDir))
}
