package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
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

// decodeSchedules reads a stream of YAML or JSON documents.
func decodeSchedules(in io.Reader) ([]v1alpha1.MaintenanceSchedule, error) {
	documents := utilyaml.NewYAMLReader(bufio.NewReader(in))
	var all []v1alpha1.MaintenanceSchedule
	for {
		text, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		found, err := decodeDocument(text)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
}

// decodeDocument reads one document, which may be a list.
func decodeDocument(text []byte) ([]v1alpha1.MaintenanceSchedule, error) {
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if err := yaml.Unmarshal(text, &head); err != nil {
		return nil, fmt.Errorf("it is not valid YAML or JSON: %s", strings.TrimPrefix(err.Error(), "error converting YAML to JSON: yaml: "))
	}
	ours := head.APIVersion == v1alpha1.GroupVersion.String()
	switch {
	case head.Kind == "MaintenanceSchedule" && !ours:
		return nil, fmt.Errorf("a MaintenanceSchedule with apiVersion %q: want %s", head.APIVersion, v1alpha1.GroupVersion)
	case head.Kind == "MaintenanceSchedule":
		one, err := decodeSchedule(text)
		return []v1alpha1.MaintenanceSchedule{one}, err
	case head.Kind == "MaintenanceScheduleList" && ours, head.Kind == "List" && head.APIVersion == "v1":
		return decodeList(text)
	}
	return nil, nil
}

// decodeSchedule is as strict as the API server: names of fields are case-sensitive.
func decodeSchedule(text []byte) (one v1alpha1.MaintenanceSchedule, err error) {
	object, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return one, err
	}
	strict, err := json.UnmarshalStrict(object, &one)
	if err != nil {
		return one, err
	}
	if len(strict) > 0 {
		return one, strictError(strict[0])
	}
	if err := checkScheduleNames(one); err != nil {
		return one, err
	}
	return one, schedule.Check(&one)
}

// strictError returns an unknownField if that is what the error of strict decoding is about.
func strictError(err error) error {
	var field unknownField
	if _, scanErr := fmt.Sscanf(err.Error(), "unknown field %q", &field); scanErr == nil {
		return field
	}
	return err
}

// decodeList reads a list such as `kubectl get -o yaml` prints.
func decodeList(text []byte) ([]v1alpha1.MaintenanceSchedule, error) {
	var list struct {
		Items []any `json:"items"`
	}
	if err := yaml.Unmarshal(text, &list); err != nil {
		return nil, err
	}
	var all []v1alpha1.MaintenanceSchedule
	for _, item := range list.Items {
		one, err := yaml.Marshal(item)
		if err != nil {
			return nil, err
		}
		found, err := decodeDocument(one)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}
