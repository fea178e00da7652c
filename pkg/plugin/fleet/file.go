package fleet

import (
	"errors"
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/manifest"
)

// FileKind is the kind of the file that names the clusters. No cluster has such an object.
const FileKind = "Fleet"

// File names the clusters of a fleet: the contexts of kubeconfigs, in stages.
type File struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Stages in the order in which versions reach them.
	Stages []Stage `json:"stages"`
}

// Stage is clusters that get a version together.
type Stage struct {
	Name string `json:"name"`
	// Contexts are names of contexts, or patterns such as prod-*.
	Contexts []string `json:"contexts"`
	// Labels are what -l chooses stages by.
	Labels map[string]string `json:"labels,omitempty"`
}

// ReadFile reads a Fleet. What is unknown in it is an error with its line.
func ReadFile(text []byte) (f File, err error) {
	if err := manifest.ReadSingle(text, v1alpha1.GroupVersion.String(), FileKind, &f, manifest.Earlier{}); err != nil {
		return f, err
	}
	if field, err := f.check(); err != nil {
		return f, manifest.ProblemIn(text, field, err)
	}
	return f, nil
}

// check refuses what can be read, and means nothing or two things. field is where it is.
func (f File) check() (field string, err error) {
	if len(f.Stages) == 0 {
		return "stages", errors.New(`there is no stage; write stages: [{name: dev, contexts: ["dev-*"]}]`)
	}
	stages, named := map[string]bool{}, map[string]string{}
	for i, stage := range f.Stages {
		at := fmt.Sprintf("stages[%d]", i)
		switch {
		case stages[stage.Name]:
			return at + ".name", fmt.Errorf("there are two stages %s", stage.Name)
		case len(stage.Contexts) == 0:
			return at, fmt.Errorf("stage %s has no contexts", stage.Name)
		}
		stages[stage.Name] = true
		for j, pattern := range stage.Contexts {
			at := fmt.Sprintf("%s.contexts[%d]", at, j)
			if err := CheckPattern(pattern); err != nil {
				return at, err
			}
			if other, twice := named[pattern]; twice {
				return at, fmt.Errorf("%s is in stage %s already", pattern, other)
			}
			named[pattern] = stage.Name
		}
	}
	return "", nil
}

// StageNames returns the names of the stages, in order.
func (f File) StageNames() (names []string) {
	for _, stage := range f.Stages {
		names = append(names, stage.Name)
	}
	return names
}
