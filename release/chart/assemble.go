package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"sigs.k8s.io/yaml"
)

// assemble returns the files of the chart: those of manifests/chart with the versions in them,
// what kustomize builds from manifests/, and the CRDs once more in crds/.
func assemble(root, version, digest string) ([]*archive.BufferedFile, error) {
	manifests := filepath.Join(root, "manifests")
	files, err := own(filepath.Join(manifests, "chart"))
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
	objects, err := objects(manifests)
	if err != nil {
		return nil, err
	}
	crds, err := crds(manifests)
	if err != nil {
		return nil, err
	}
	return append(append(files, objects...), crds...), nil
}

// own returns the files of manifests/chart.
func own(folder string) ([]*archive.BufferedFile, error) {
	var files []*archive.BufferedFile
	tree := os.DirFS(folder)
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(tree, name)
		files = append(files, &archive.BufferedFile{Name: name, Data: text})
		return err
	})
	return files, err
}

// objects returns objects/manifests.yaml with the objects of manifests/, and
// objects/COMPONENT.yaml with those of each component.
func objects(manifests string) ([]*archive.BufferedFile, error) {
	sources := map[string]string{"manifests": "resources: ['%s']\n"}
	names, err := components(manifests)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		sources[name] = "components: ['%s/" + name + "']\n"
	}
	var files []*archive.BufferedFile
	for name, lines := range sources {
		text, err := build(manifests, lines)
		if err != nil {
			return nil, fmt.Errorf("building %s: %w", name, err)
		}
		files = append(files, &archive.BufferedFile{Name: "objects/" + name + ".yaml", Data: text})
	}
	return files, nil
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
