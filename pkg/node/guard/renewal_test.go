package guard

import (
	"encoding/json"
	"io"
	"os"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// TestRestoreCertificates checks that the guard puts back, at a boot, the certificates that a renewal has left half done:
// without them no API server may start that an agent could ask. If it cannot, its unit stays.
func TestRestoreCertificates(t *testing.T) {
	const path = "/etc/kubernetes/pki/apiserver.crt"
	for name, c := range map[string]struct {
		copied string
		fails  bool
	}{
		"put back":   {string(copyOf(t, path, "former")), false},
		"unreadable": {"{", true},
	} {
		t.Run(name, func(t *testing.T) {
			l := host.Layout{Dir: t.TempDir()}
			for file, text := range map[string]string{path: "half", host.CertificatesCopy: c.copied, host.Root + "/bin/node-agent": "program"} {
				if err := host.WriteFile(l.At(file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := l.EnableGuard(); err != nil {
				t.Fatal(err)
			}
			if err := restore(l, false, host.NewLog(io.Discard)); (err != nil) != c.fails {
				t.Fatal(err)
			}
			text, err := os.ReadFile(l.At(path))
			if want := map[bool]string{true: "half", false: "former"}[c.fails]; err != nil || string(text) != want {
				t.Errorf("%s has %q, want %q: %v", path, text, want, err)
			}
			if _, err := os.Lstat(l.At("/etc/systemd/system/multi-user.target.wants", host.GuardUnit)); (err == nil) != c.fails {
				t.Errorf("the guard starts at the next boot: %t, want %t", err == nil, c.fails)
			}
		})
	}
}

func copyOf(t *testing.T, path, content string) []byte {
	t.Helper()
	text, err := json.Marshal([]map[string]any{{"path": path, "written": time.Now(), "content": []byte(content)}})
	if err != nil {
		t.Fatal(err)
	}
	return text
}
