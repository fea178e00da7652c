package capi

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

func objects(t *testing.T, shape Shape) map[string]*unstructured.Unstructured {
	t.Helper()
	text, err := Objects(shape)
	if err != nil {
		t.Fatal(err)
	}
	byKind := map[string]*unstructured.Unstructured{}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader([]byte(text)), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return byKind
		}
		if err != nil {
			t.Fatal(err)
		}
		byKind[object.GetKind()] = object
	}
}

// TestObjects checks what depends on the shape: fewer than three control planes cannot have maxSurge 0.
func TestObjects(t *testing.T) {
	for planes, surges := range map[int]bool{1: false, 3: true} {
		kinds := objects(t, Shape{ControlPlanes: planes, Workers: 2, Version: "v1.34.3", ImageServer: "http://images", IgnoredPreflightErrors: []string{"NumCPU"}})
		plane := kinds["KubeadmControlPlane"].Object
		if _, found, _ := unstructured.NestedFieldNoCopy(plane, "spec", "rollout", "strategy", "rollingUpdate", "maxSurge"); found != surges {
			t.Errorf("%d control planes: maxSurge is set: %t", planes, found)
		}
		if workers, _, _ := unstructured.NestedFieldNoCopy(kinds["MachineDeployment"].Object, "spec", "replicas"); fmt.Sprint(workers) != "2" {
			t.Errorf("there are %v workers, want 2", workers)
		}
		config, _, _ := unstructured.NestedString(plane, "spec", "kubeadmConfigSpec", "ignition", "containerLinuxConfig", "additionalConfig")
		if !strings.Contains(config, "url: http://images/kubernetes-v1.34.3-") {
			t.Errorf("the control plane's additionalConfig has no image:\n%s", config)
		}
	}
}

// TestClassObjects checks that a ClusterClass has what the cluster without one has, and that each patch
// yields the additionalConfig of a version.
func TestClassObjects(t *testing.T) {
	shape := Shape{ControlPlanes: 3, Workers: 2, Version: "v1.34.3", ImageServer: "http://images"}
	plain := objects(t, shape)
	shape.ClusterClass = true
	class := objects(t, shape)
	for _, kind := range []string{"ClusterClass", "Cluster", "LabClusterTemplate", "LabMachineTemplate", "KubeadmControlPlaneTemplate", "KubeadmConfigTemplate"} {
		if class[kind] == nil {
			t.Fatalf("there is no %s", kind)
		}
	}
	if len(class) != 6 {
		t.Errorf("there are %d kinds, want 6", len(class))
	}
	want, _, _ := unstructured.NestedMap(plain["KubeadmControlPlane"].Object, "spec", "kubeadmConfigSpec")
	got, _, _ := unstructured.NestedMap(class["KubeadmControlPlaneTemplate"].Object, "spec", "template", "spec", "kubeadmConfigSpec")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the control plane's configuration (-without a class, +with one):\n%s", diff)
	}
	patch, err := versionPatch("controlPlane", "http://images")
	if err != nil {
		t.Fatal(err)
	}
	filled := strings.NewReplacer("{{ .builtin.controlPlane.version }}", "v1.34.3", `{{ regexFind "^v[0-9]+[.][0-9]+" .builtin.controlPlane.version }}`, "v1.34").Replace(patch)
	var config string
	if err := yaml.Unmarshal([]byte(filled), &config); err != nil {
		t.Fatal(err)
	}
	direct, err := AdditionalConfig("v1.34.3", "http://images")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(direct, config); diff != "" {
		t.Errorf("the patch (-want +got):\n%s", diff)
	}
}

// TestAdditionalConfig compares it with the snippet of docs/images.md, which is what users have.
func TestAdditionalConfig(t *testing.T) {
	page, err := os.ReadFile("../../docs/images.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```yaml\n# additionalConfig\n(.*?)```").FindSubmatch(page)
	if block == nil {
		t.Fatal("docs/images.md has no additionalConfig")
	}
	filled := strings.NewReplacer(
		"${KUBERNETES_VERSION%.*}", "v1.34", "${KUBERNETES_VERSION}", "v1.34.3",
		"${FLATCAR_DISABLE_AUTO_UPDATE:=true} # false, to have Flatcar's updates too", "true",
		"https://extensions.flatcar.org/extensions/kubernetes", "http://images",
	).Replace(string(block[1]))
	got, err := AdditionalConfig("v1.34.3", "http://images")
	if err != nil {
		t.Fatal(err)
	}
	if got = strings.ReplaceAll(got, "-arm64.raw", "-x86-64.raw"); got != filled {
		t.Errorf("got\n%s\nwant\n%s", got, filled)
	}
}
