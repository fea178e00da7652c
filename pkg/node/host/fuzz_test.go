package host

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

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
