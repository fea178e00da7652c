package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

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
