package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// FuzzManifestTag parses static pods' manifests, which people may have edited.
func FuzzManifestTag(f *testing.F) {
	f.Add([]byte("spec: {containers: [{name: kube-apiserver, image: 'registry.k8s.io/kube-apiserver:v1.34.4@sha256:ab'}]}"))
	f.Add([]byte("spec: {containers: [{name: kube-apiserver, image: 'localhost:5000/kube-apiserver'}]}"))
	f.Add([]byte("spec: []"))
	f.Fuzz(func(t *testing.T, manifest []byte) {
		if tag, err := manifestTag(manifest, "kube-apiserver"); err == nil && strings.ContainsAny(tag, "/@") {
			t.Errorf("%q has the tag %q", manifest, tag)
		}
	})
}

// FuzzResult parses results, which may be truncated by a power cut or be of another version.
func FuzzResult(f *testing.F) {
	f.Add([]byte(`{"verb":"stage","key":"k","ok":true,"output":{"path":"x"}}`))
	f.Add([]byte(`{"verb":"stage","startedAt":"`))
	f.Add([]byte("null"))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "result.json")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		result, err := readJSON[verb.Result](path)
		if err != nil {
			return
		}
		var output map[string]any
		if err := result.Decode(&output); err != nil && len(result.Output) == 0 && output != nil {
			t.Errorf("%q has the output %v", text, output)
		}
	})
}
