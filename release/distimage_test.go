//go:build dist

package main

import (
	"io"
	"log"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"sigs.k8s.io/yaml"
)

// imageDigest returns the digest of the image in dist/.
func imageDigest(t *testing.T) string {
	t.Helper()
	return strings.TrimSpace(read(t, inDist(t, "digest")))
}

// TestDistImage checks the image in dist/, and that it has the same digest once it is
// pushed as the workflow pushes it.
func TestDistImage(t *testing.T) {
	digest, err := v1.NewHash(imageDigest(t))
	if err != nil {
		t.Fatal(err)
	}
	layout := inDist(t, "node-agent", "image")
	checkIndex(t, readIndex(t, layout, digest), version,
		output(t, "git", "rev-parse", "HEAD"),
		output(t, "env", "TZ=UTC0", "git", "log", "-1", "--date=format-local:%Y-%m-%dT%H:%M:%SZ", "--format=%cd"))
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	crane := filepath.Join("..", "bin", "crane")
	reference := strings.TrimPrefix(server.URL, "http://") + "/node-agent:" + version
	output(t, crane, "push", "--index", layout, reference)
	if got := output(t, crane, "digest", reference); got != digest.String() {
		t.Errorf("after the push the digest is %s, want %s", got, digest)
	}
	for _, architecture := range architectures {
		if got := output(t, crane, "config", "--platform", "linux/"+architecture, reference); !strings.Contains(got, `"architecture":"`+architecture+`"`) {
			t.Errorf("the registry gives for %s\n%s", architecture, got)
		}
	}
}

// TestInstall checks that each file of objects has every one of its manifests, and no image but the one
// of this version, by its digest.
func TestInstall(t *testing.T) {
	for _, file := range []struct {
		name, manifests string
		images          int
	}{
		{"install.yaml", "../manifests", 2}, // the coordinator's and the agent's
		{"clusterapi-management.yaml", "../manifests/clusterapi/management", 1},
		{"clusterapi-workload.yaml", "../manifests/clusterapi/workload", 0},
	} {
		t.Run(file.name, func(t *testing.T) { checkInstall(t, file.name, file.manifests, file.images) })
	}
}

func checkInstall(t *testing.T, name, manifests string, count int) {
	t.Helper()
	text := read(t, inDist(t, name))
	want := imageName + ":" + version + "@" + imageDigest(t)
	images := regexp.MustCompile(`(?m)^ +(?:- )?image: (.*)$`).FindAllStringSubmatch(text, -1)
	for _, m := range images {
		if m[1] != want {
			t.Errorf("got image %s, want %s", m[1], want)
		}
	}
	if len(images) != count {
		t.Errorf("%d images, want %d", len(images), count)
	}
	if strings.Contains(text, ":dev") {
		t.Error("it mentions the tag dev")
	}
	if got, want := kinds(t, text), kinds(t, output(t, kubectl(t), "kustomize", manifests)); got != want {
		t.Errorf("it has the objects\n%s\n%s has\n%s", got, manifests, want)
	}
}

// kinds returns kind, namespace and name of each object, a line each.
func kinds(t *testing.T, text string) string {
	t.Helper()
	var lines []string
	for _, document := range strings.Split(text, "\n---\n") {
		var object struct {
			Kind     string
			Metadata struct{ Namespace, Name string }
		}
		if err := yaml.Unmarshal([]byte(document), &object); err != nil || object.Kind == "" {
			t.Fatalf("%v: not an object:\n%s", err, document)
		}
		lines = append(lines, object.Kind+" "+object.Metadata.Namespace+"/"+object.Metadata.Name)
	}
	slices.Sort(lines) // kubectl writes them in another order
	return strings.Join(lines, "\n")
}

// TestChart checks that the charts in dist/ are of this version.
func TestChart(t *testing.T) {
	charts := glob(t, "charts/*.tgz")
	if len(charts) != len(glob(t, "../manifests/chart")) {
		t.Fatalf("dist/charts has %v", charts)
	}
	for _, chart := range charts {
		var about struct{ Version, AppVersion string }
		if err := yaml.Unmarshal([]byte(output(t, "tar", "-xzOf", chart, "kubectl-upgrade/Chart.yaml")), &about); err != nil {
			t.Fatal(err)
		}
		if about.AppVersion != version || "v"+about.Version != version {
			t.Errorf("%s has version %q and appVersion %q, want %s", chart, about.Version, about.AppVersion, version)
		}
		values := output(t, "tar", "-xzOf", chart, "kubectl-upgrade/values.yaml")
		if !strings.Contains(values, "digest: "+imageDigest(t)) && !strings.Contains(values, `digest: "`+imageDigest(t)+`"`) {
			t.Errorf("%s does not pin the image's digest:\n%s", chart, values)
		}
	}
}
