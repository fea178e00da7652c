package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"sigs.k8s.io/yaml"
)

// assemble returns the files of the chart: those of manifests/chart, with the versions in
// them, the objects of the other folders of manifests/, and the CRDs once more in crds/.
func assemble(root, version, digest string) ([]*loader.BufferedFile, error) {
	manifests := filepath.Join(root, "manifests")
	var files []*loader.BufferedFile
	err := filepath.WalkDir(manifests, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() == "kustomization.yaml" {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(manifests, name)
		if err != nil {
			return err
		}
		inside = filepath.ToSlash(inside)
		if own, err := filepath.Rel("chart", inside); err == nil && filepath.IsLocal(own) {
			inside = own
		} else {
			inside = path.Join("manifests", inside)
		}
		files = append(files, &loader.BufferedFile{Name: inside, Data: text})
		return nil
	})
	if err != nil {
		return nil, err
	}
	changes := map[string]func([]byte) ([]byte, error){
		"Chart.yaml":         func(text []byte) ([]byte, error) { return setVersions(text, version) },
		"values.yaml":        func(text []byte) ([]byte, error) { return setDigest(text, digest) },
		"values.schema.json": func(text []byte) ([]byte, error) { return addPolicySchema(text, manifests) },
	}
	for _, file := range files {
		if change, ok := changes[file.Name]; ok {
			if file.Data, err = change(file.Data); err != nil {
				return nil, fmt.Errorf("%s: %w", file.Name, err)
			}
		}
	}
	definitions, err := crds(files)
	return append(files, definitions...), err
}

// setVersions returns Chart.yaml with the version in it.
func setVersions(text []byte, version string) ([]byte, error) {
	var metadata chart.Metadata
	if err := yaml.UnmarshalStrict(text, &metadata); err != nil {
		return nil, err
	}
	metadata.Version, metadata.AppVersion = semantic(version), version
	return yaml.Marshal(metadata)
}

// setDigest returns values.yaml with the image's digest in it.
func setDigest(text []byte, digest string) ([]byte, error) {
	const without = "\n  digest: \"\"\n"
	if bytes.Count(text, []byte(without)) != 1 {
		return nil, fmt.Errorf("the line %q is not there once", without)
	}
	return bytes.Replace(text, []byte(without), fmt.Appendf(nil, "\n  digest: %q\n", digest), 1), nil
}
