package main

import (
	"bufio"
	"fmt"
	"os"
	"regexp"
	"strings"
	"text/template"
)

// plugin is what a krew manifest is filled in with.
type plugin struct {
	Name, Version string
	Archives      []archive
}

// archive is the plugin for one platform.
type archive struct {
	File, OS, Arch, SHA256 string
}

// writeKrew fills in the template of krew's manifest with the archives that a file of
// checksums lists, as sha256sum writes it.
func writeKrew(source, checksums string, p plugin, out string) error {
	manifest, err := template.ParseFiles(source)
	if err != nil {
		return err
	}
	if p.Archives, err = archives(checksums); err != nil {
		return err
	}
	var text strings.Builder
	if err := manifest.Execute(&text, p); err != nil {
		return err
	}
	return os.WriteFile(out, []byte(text.String()), 0o644) //nolint:gosec // for everybody to read
}

// archiveName matches the name of an archive, with its platform.
var archiveName = regexp.MustCompile(`^kubectl-upgrade_([a-z]+)_([a-z0-9]+)\.(tar\.gz|zip)$`)

// archives returns the archives that the file lists.
func archives(checksums string) (all []archive, err error) {
	file, err := os.Open(checksums)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) != 2 {
			return nil, fmt.Errorf("%s: %q is not a digest and a name", checksums, lines.Text())
		}
		if m := archiveName.FindStringSubmatch(fields[1]); m != nil {
			all = append(all, archive{File: fields[1], OS: m[1], Arch: m[2], SHA256: fields[0]})
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s lists no archive of the plugin", checksums)
	}
	return all, nil
}
