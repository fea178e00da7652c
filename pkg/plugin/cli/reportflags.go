package cli

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// check reads the flags, and refuses those that cannot be combined.
func (r *reporting) check() (err error) {
	if r.format() == "" {
		*r.flags.OutputFormat = formatOf(r.file)
	}
	if err := r.timeout.read(); err != nil {
		return err
	}
	if r.zone, err = zone(r.timeZone); err != nil {
		return err
	}
	switch {
	case r.follows && r.file == "":
		return errors.New("--follow rewrites a file: add --output-file FILE")
	case r.follows && r.snapshotFile != "":
		return errors.New("--snapshot does not change: leave out --follow, or --snapshot")
	case r.timeout.limit > 0 && !r.follows:
		return errors.New("--timeout limits --follow: add --follow")
	case r.format() == "wide" || r.format() == "name":
		return fmt.Errorf("-o %s: a report has no such format; use html, markdown, json, yaml, jsonpath=… or go-template=…", r.format())
	case r.drawnByUs():
		return nil
	}
	if err := r.output.check(); err != nil {
		if near := nearest(r.format(), []string{formatHTML, formatMarkdown}); near != "" {
			return fmt.Errorf("-o %s: there is no such format; did you mean %s?", r.format(), near)
		}
		return errors.New(strings.Replace(err.Error(), "use wide, json, yaml, name,", "use html, markdown, json, yaml,", 1))
	}
	return nil
}

// formatOf returns the format that a file's name ends with.
func formatOf(file string) string {
	formats := map[string]string{".html": formatHTML, ".htm": formatHTML, ".json": "json", ".yaml": "yaml", ".yml": "yaml"}
	return cmp.Or(formats[strings.ToLower(filepath.Ext(file))], formatMarkdown)
}

// drawnByUs reports whether the format is none of kubectl's.
func (r *reporting) drawnByUs() bool { return r.format() == formatHTML || r.format() == formatMarkdown }
