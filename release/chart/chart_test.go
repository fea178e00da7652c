package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

const root = "../.."

type object = unstructured.Unstructured

var files = sync.OnceValues(func() ([]*archive.BufferedFile, error) { return assemble(root, "dev", "") })

// load returns the chart as `make chart` writes it.
func load(t *testing.T) *chart.Chart {
	t.Helper()
	files, err := files()
	if err != nil {
		t.Fatal(err)
	}
	c, err := loader.LoadFiles(files)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// render returns the text of the objects that a first installation of the chart creates, from
// the namespace.
func render(t *testing.T, c *chart.Chart, namespace, values string) (string, error) {
	t.Helper()
	given, err := common.ReadValues([]byte(values))
	if err != nil {
		t.Fatal(err)
	}
	top, err := util.ToRenderValues(c, given, common.ReleaseOptions{Name: "ku", Namespace: namespace, IsInstall: true}, nil)
	if err != nil {
		return "", err
	}
	files, err := engine.Render(c, top)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for name, file := range files {
		if filepath.Ext(name) == ".yaml" {
			text.WriteString("---\n" + file + "\n")
		}
	}
	return text.String(), nil
}

// built returns the text of the objects of manifests/ with these components.
func built(t *testing.T, components ...string) string {
	t.Helper()
	lines := "resources: ['%[1]s']\ncomponents:\n"
	for _, component := range components {
		lines += "  - '%[1]s/" + component + "'\n"
	}
	text, err := build(root+"/manifests", lines)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func allComponents(t *testing.T) []string {
	t.Helper()
	names, err := components(root + "/manifests")
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// parse returns the objects of a text by kind, namespace and name.
func parse(t *testing.T, text string) map[string]*object {
	t.Helper()
	objects := map[string]*object{}
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	for {
		o := &object{}
		err := decoder.Decode(&o.Object)
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatal(err)
		}
		if o.Object == nil {
			continue
		}
		key := o.GetKind() + " " + o.GetNamespace() + "/" + o.GetName()
		if objects[key] != nil {
			t.Errorf("%s is there twice", key)
		}
		objects[key] = o
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// sorted returns the keys of objects.
func sorted(objects map[string]*object) []string {
	var keys []string
	for key := range objects {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
