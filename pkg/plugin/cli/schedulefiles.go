package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// schedulesIn reads the MaintenanceSchedules in files, in the YAML and JSON files of
// folders, and on standard input for "-". It skips other kinds, so that a folder of a Git
// repository can be read as it is. A field that the kind does not have is an error, as it
// is on the API server.
func (p *program) schedulesIn(paths []string) ([]v1alpha1.MaintenanceSchedule, error) {
	var all []v1alpha1.MaintenanceSchedule
	from := map[string]string{}
	for _, path := range paths {
		files, err := filesOf(path)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			found, err := p.schedulesInFile(file)
			if err != nil {
				return nil, fmt.Errorf("reading %s: %w", displayName(file), err)
			}
			for _, s := range found {
				if before, twice := from[s.Name]; twice {
					return nil, fmt.Errorf("reading %s: MaintenanceSchedule %s is also defined in %s", displayName(file), s.Name, displayName(before))
				}
				from[s.Name] = file
			}
			all = append(all, found...)
		}
	}
	if len(all) == 0 {
		names := make([]string, len(paths))
		for i, path := range paths {
			names[i] = displayName(path)
		}
		return nil, fmt.Errorf("there is no MaintenanceSchedule in %s", strings.Join(names, ", "))
	}
	return all, nil
}

// displayName returns the name of a file for messages.
func displayName(file string) string {
	if file == "-" {
		return "standard input"
	}
	return file
}

// filesOf returns the file itself, or the files of a folder without those of folders in
// it, as kubectl does.
func filesOf(path string) ([]string, error) {
	if path == "-" {
		return []string{path}, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("reading schedules: %w; -f requires a file, a folder, or - for standard input", err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, entry := range entries {
		if !entry.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(entry.Name())) {
			files = append(files, filepath.Join(path, entry.Name()))
		}
	}
	return files, nil
}

func (p *program) schedulesInFile(file string) ([]v1alpha1.MaintenanceSchedule, error) {
	in := p.In
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, errors.Unwrap(err)
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	found, err := decodeSchedules(bytes.NewReader(text))
	return found, explainSchedule(err, text)
}
