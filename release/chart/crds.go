package main

import (
	"fmt"
	"os"
	"path/filepath"

	"helm.sh/helm/v4/pkg/chart/loader/archive"
	"sigs.k8s.io/yaml"
)

// The release and its namespace, which docs/install.md names.
const (
	releaseName      = "kubectl-upgrade"
	releaseNamespace = "kubectl-upgrade"
)

// crds returns a second copy of the CRDs for the chart's folder crds. Helm creates what is in
// that folder before it reads the templates, which have an UpgradePolicy, and never changes it
// again. The templates have the CRDs, too, so that `helm upgrade` changes them: by these labels
// and annotations Helm recognizes them as its own.
func crds(manifests string) ([]*archive.BufferedFile, error) {
	files, err := filepath.Glob(filepath.Join(manifests, "crd", "kubectl-upgrade.dev_*.yaml"))
	if err != nil {
		return nil, err
	}
	var copies []*archive.BufferedFile
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var crd struct {
			APIVersion string         `json:"apiVersion"`
			Kind       string         `json:"kind"`
			Metadata   map[string]any `json:"metadata"`
			Spec       map[string]any `json:"spec"`
		}
		if err := yaml.UnmarshalStrict(text, &crd); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		crd.Metadata["labels"] = map[string]any{"app.kubernetes.io/managed-by": "Helm"}
		crd.Metadata["annotations"] = map[string]any{
			"meta.helm.sh/release-name":      releaseName,
			"meta.helm.sh/release-namespace": releaseNamespace,
			"helm.sh/resource-policy":        "keep",
		}
		if text, err = yaml.Marshal(crd); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		copies = append(copies, &archive.BufferedFile{Name: "crds/" + filepath.Base(file), Data: text})
	}
	return copies, nil
}
