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
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/manifest"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

// schedulesIn reads the MaintenanceSchedules in files, in the YAML and JSON files of
// folders, and on standard input for "-". It skips other kinds, so that a folder of a Git
// repository can be read as it is. What the API server refuses is an error.
func (p *program) schedulesIn(paths []string) ([]v1alpha1.MaintenanceSchedule, error) {
	var found []fileSchedule
	for _, path := range paths {
		more, err := p.schedulesAt(path)
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
	}
	if len(found) == 0 {
		names := make([]string, len(paths))
		for i, path := range paths {
			names[i] = displayName(path)
		}
		return nil, fmt.Errorf("there is no MaintenanceSchedule in %s", strings.Join(names, ", "))
	}
	return checkSchedules(found)
}

// fileSchedule is a schedule of a file.
type fileSchedule struct {
	manifest.Schedule
	file string
}

// checkSchedules returns the schedules of the files. Their number is checked first: to check a
// rule costs more.
func checkSchedules(found []fileSchedule) ([]v1alpha1.MaintenanceSchedule, error) {
	var all []v1alpha1.MaintenanceSchedule
	from := map[string]fileSchedule{}
	for _, s := range found {
		name := s.Value.Name
		if before, twice := from[name]; twice {
			return nil, s.wrap(s.Object.Problem("metadata.name", fmt.Errorf("MaintenanceSchedule %s is also defined in %s, %s", name, displayName(before.file), before.Object.Place())))
		}
		from[name] = s
		all = append(all, s.Value)
	}
	if over := schedule.Excess(all); len(over) > 0 {
		for _, s := range found {
			if err := over[s.Value.Name]; err != nil {
				return nil, s.wrap(s.Object.Problem("", err))
			}
		}
	}
	for _, s := range found {
		if err := s.Check(); err != nil {
			return nil, s.wrap(err)
		}
	}
	return all, nil
}

func (s fileSchedule) wrap(err error) error {
	return fmt.Errorf("reading %s: %w", displayName(s.file), err)
}

// schedulesAt reads a file or folder. In a folder, a file that has no objects of Kubernetes is
// left out with a warning, unless it may have a schedule.
func (p *program) schedulesAt(path string) (all []fileSchedule, err error) {
	files, isFolder, err := filesOf(path)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		if info, err := os.Stat(file); isFolder && err == nil && !info.Mode().IsRegular() {
			fmt.Fprintf(p.ErrOut, "warning: %s is left out: it is no file\n", file) // to open a pipe may wait for ever
			continue
		}
		text, err := p.readFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", displayName(file), err)
		}
		found, err := manifest.Schedules(text)
		switch {
		case err != nil && isFolder && !bytes.Contains(text, []byte("MaintenanceSchedule")):
			fmt.Fprintf(p.ErrOut, "warning: %s is left out: %s\n", file, oneLine(err.Error()))
		case err != nil:
			return nil, fmt.Errorf("reading %s: %w", displayName(file), err)
		}
		for _, one := range found {
			all = append(all, fileSchedule{one, file})
		}
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
func filesOf(path string) (files []string, isFolder bool, err error) {
	if path == "-" {
		return []string{path}, false, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, false, fmt.Errorf("reading files: %w; -f requires a file, a folder, or - for standard input", err)
	}
	if !info.IsDir() {
		return []string{path}, false, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, true, err
	}
	for _, entry := range entries {
		if !entry.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(entry.Name())) {
			files = append(files, filepath.Join(path, entry.Name()))
		}
	}
	return files, true, nil
}

// maxFile limits how much is read of a file, which may be a device that never ends.
const maxFile = 64 << 20

// readFile reads a file, or standard input for "-".
func (p *program) readFile(file string) ([]byte, error) {
	in := p.In
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, errors.Unwrap(err)
		}
		defer f.Close()
		in = f
	}
	return readAll(in, maxFile)
}

// readAll reads everything, if it is not more than so many bytes.
func readAll(in io.Reader, most int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(in, most+1))
	if path := (*os.PathError)(nil); errors.As(err, &path) {
		return nil, path.Err
	}
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("it is larger than %d MiB", most>>20)
	}
	return text, err
}

// warnOfSchedules writes what in the schedules is probably a mistake.
func (p *program) warnOfSchedules(schedules []v1alpha1.MaintenanceSchedule, now time.Time) {
	for _, s := range schedules {
		for _, finding := range schedule.Lint(s, now) {
			fmt.Fprintf(p.ErrOut, "warning: schedule %s: %s: %s\n", finding.Schedule, finding.Field, finding.Message)
		}
	}
}
