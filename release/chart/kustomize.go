package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// components returns the names of the kustomize components in manifests/.
func components(manifests string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(manifests, "*", "kustomization.yaml"))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if bytes.Contains(text, []byte("\nkind: Component\n")) {
			names = append(names, filepath.Base(filepath.Dir(file)))
		}
	}
	return names, nil
}

// build returns the objects of a kustomization with these lines, in which %s is the path of
// manifests/.
func build(manifests, lines string) ([]byte, error) {
	overlay, err := os.MkdirTemp("", "chart-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(overlay)
	if overlay, err = filepath.EvalSymlinks(overlay); err != nil {
		return nil, err
	}
	if manifests, err = filepath.Abs(manifests); err != nil {
		return nil, err
	}
	// kustomize refuses absolute paths.
	if manifests, err = filepath.Rel(overlay, manifests); err != nil {
		return nil, err
	}
	lines = fmt.Sprintf(lines, filepath.ToSlash(manifests))
	if err := os.WriteFile(filepath.Join(overlay, "kustomization.yaml"), []byte(lines), 0o600); err != nil {
		return nil, err
	}
	objects, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), overlay)
	if err != nil {
		return nil, err
	}
	return objects.AsYaml()
}
