package cli_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/cli"
)

// TestUntrustedCertificate checks that an API server that answers is not said to be silent.
func TestUntrustedCertificate(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: %q}}], contexts: [{name: c, context: {cluster: c}}]}`, server.URL)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := cli.New(genericiooptions.IOStreams{In: strings.NewReader(""), Out: io.Discard, ErrOut: io.Discard}, "test")
	cmd.SetArgs([]string{"status", "--kubeconfig", kubeconfig, "--cache-dir", t.TempDir()})
	err := cmd.ExecuteContext(t.Context())
	if err == nil || !strings.Contains(err.Error(), "the API server's certificate is not trusted") || strings.Contains(err.Error(), "does not answer") {
		t.Errorf("got %v", err)
	}
}
