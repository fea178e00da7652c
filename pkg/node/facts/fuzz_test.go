package facts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// Commands and environment files are the host's; whatever stands in them, what was found in
// them has names.
func FuzzEnvironment(f *testing.F) {
	f.Add("/usr/bin/kubelet\n$A\n--v=${D}\n--feature-gates=X=true,Y=false", "A='--node-ip=1.2.3.4'\nD=\"e\"")
	f.Add("/x\n${A", "=\n#\n\\")
	f.Add("/x\n$", "A=\"")
	f.Fuzz(func(t *testing.T, command, file string) {
		s := service{command: strings.Split(command, "\n")}
		args := s.arguments(environmentFile(file))
		found := parseFlags(args)
		for _, name := range found.names() {
			if name == "" || strings.HasPrefix(name, "-") {
				t.Errorf("%q has a flag %q", args, name)
			}
			for _, gate := range found.gates(name) {
				if gate == "" {
					t.Errorf("%q has a feature gate without a name", args)
				}
			}
		}
	})
}

// FuzzManifest parses static pods' manifests, which people may have edited.
func FuzzManifest(f *testing.F) {
	f.Add("{kind: Pod, spec: {containers: [{name: kube-apiserver, image: 'registry.k8s.io/kube-apiserver:v1.34.4@sha256:ab'}]}}")
	f.Add("{kind: Pod, spec: {containers: [{name: kube-apiserver, image: 'localhost:5000/kube-apiserver'}]}}")
	f.Add("spec: []")
	l := host.Layout{Dir: f.TempDir()}
	path := l.At(host.ManifestsDir, "kube-apiserver.yaml")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, manifest string) {
		if err := os.WriteFile(path, []byte(manifest), 0o600); err != nil {
			t.Fatal(err)
		}
		g := newGatherer(l, services{}.ask)
		g.staticPods()
		tag, there := g.tags["kube-apiserver"]
		if !there || strings.ContainsAny(tag, "/@") {
			t.Errorf("%q has the tag %q", manifest, tag)
		}
	})
}
