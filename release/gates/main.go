// Gates writes the feature gates that minors of Kubernetes have removed, one line each with the minor, from Kubernetes' own
// lists: those of the modules k8s.io/kubernetes of the given versions, each the last patch of its minor, in order.
package main

import (
	"archive/zip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) < 4 {
		log.Fatal("usage: gates FILE VERSION VERSION... (such as v1.36.3 v1.37.2)")
	}
	if err := write(os.Args[1], os.Args[2:]); err != nil {
		log.Fatal(err)
	}
}

func write(out string, versions []string) error {
	var text strings.Builder
	fmt.Fprintf(&text, "# Feature gates, with the minor of Kubernetes from which on no component knows them. `make gates` wrote it from\n"+
		"# versioned_feature_list.yaml in %s.\n", strings.Join(versions, ", "))
	var before []string
	for i, version := range versions {
		gates, err := gatesOf(version)
		if err != nil {
			return fmt.Errorf("the gates of %s: %w", version, err)
		}
		minor := strings.Split(version, ".")[1]
		removed := slices.DeleteFunc(before, func(gate string) bool { return slices.Contains(gates, gate) })
		if i > 0 {
			fmt.Fprintf(&text, "%s %s\n", minor, strings.Join(removed, " "))
		}
		before = gates
	}
	return os.WriteFile(out, []byte(text.String()), 0o644) //nolint:gosec // a source file
}

// constant is a gate in Kubernetes' source. Up to 1.35 its lists had the names of these constants.
var constant = regexp.MustCompile(`(\w+)\s+featuregate\.Feature\s*=\s*"(\w+)"`)

// gatesOf returns the sorted gates of a version.
func gatesOf(version string) (gates []string, err error) {
	archive, err := download(version)
	if err != nil {
		return nil, err
	}
	files, err := zip.OpenReader(archive)
	if err != nil {
		return nil, err
	}
	defer files.Close()
	values := map[string]string{}
	for _, file := range files.File {
		switch path.Base(file.Name) {
		case "versioned_feature_list.yaml", "unversioned_feature_list.yaml":
			data, err := content(file)
			if err != nil {
				return nil, err
			}
			var list []struct{ Name string }
			if err := yaml.Unmarshal(data, &list); err != nil {
				return nil, fmt.Errorf("%s: %w", file.Name, err)
			}
			for _, gate := range list {
				gates = append(gates, gate.Name)
			}
		case "kube_features.go":
			data, err := content(file)
			if err != nil {
				return nil, err
			}
			for _, found := range constant.FindAllSubmatch(data, -1) {
				values[string(found[1])] = string(found[2])
			}
		}
	}
	for i, gate := range gates {
		if value := values[gate]; value != "" {
			gates[i] = value
		}
	}
	if len(gates) == 0 {
		return nil, errors.New("the module has no list of them")
	}
	slices.Sort(gates)
	return slices.Compact(gates), nil
}

// download returns the archive of the module.
func download(version string) (file string, err error) {
	out, err := exec.CommandContext(context.Background(), "go", "mod", "download", "-json", "k8s.io/kubernetes@"+version).Output() //nolint:gosec // a person gives the version
	var answer struct{ Zip, Error string }
	if decoded := json.Unmarshal(out, &answer); err == nil {
		err = decoded
	}
	if answer.Error != "" {
		err = errors.New(answer.Error)
	}
	return answer.Zip, err
}

func content(file *zip.File) ([]byte, error) {
	reader, err := file.Open()
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	return io.ReadAll(reader)
}
