package facts

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

func layout(t *testing.T, files map[string]string) host.Layout {
	t.Helper()
	l := host.Layout{Dir: t.TempDir()}
	for path, text := range files {
		if err := os.MkdirAll(filepath.Dir(l.At(path)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(l.At(path), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

func TestProblem(t *testing.T) {
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte("[-]syncloop failed"))
	}))
	defer server.Close()
	address, port, err := net.SplitHostPort(strings.TrimPrefix(server.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	l := layout(t, map[string]string{host.KubeletConfig: "healthzBindAddress: " + address + "\nhealthzPort: " + port + "\n"})
	runs := []Process{{Name: "kubelet", cgroup: "0::/system.slice/kubelet.service\n"}}
	if got := KubeletProblem(t.Context(), l, runs); got != "" {
		t.Errorf("a healthy kubelet: got %q, want nothing", got)
	}
	status = http.StatusInternalServerError
	if got, want := KubeletProblem(t.Context(), l, runs), "the kubelet's health endpoint answers 500: [-]syncloop failed"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	server.Close()
	if got := KubeletProblem(t.Context(), l, runs); !strings.Contains(got, "does not answer") {
		t.Errorf("no endpoint: got %q", got)
	}
	pod := []Process{{Name: "kubelet", cgroup: "0::/kubepods.slice/pod1\n"}}
	if got, want := KubeletProblem(t.Context(), l, pod), "the kubelet does not run"; got != want {
		t.Errorf("a pod's process of that name: got %q, want %q", got, want)
	}
}

func TestHealthAddress(t *testing.T) {
	for name, test := range map[string]struct {
		config string
		args   []string
		want   string
	}{
		"defaults":              {"", nil, "127.0.0.1:10248"},
		"config.yaml":           {"healthzPort: 10300\nhealthzBindAddress: 10.0.0.1\n", nil, "10.0.0.1:10300"},
		"every address":         {"healthzBindAddress: 0.0.0.0\n", nil, "127.0.0.1:10248"},
		"disabled":              {"healthzPort: 0\n", nil, ""},
		"flags come first":      {"healthzPort: 0\n", []string{"--healthz-port=10400", "--healthz-bind-address", "10.0.0.2"}, "10.0.0.2:10400"},
		"config.yaml is broken": {"healthzPort: [\n", nil, "127.0.0.1:10248"},
	} {
		l := layout(t, map[string]string{host.KubeletConfig: test.config})
		if got := healthAddress(l, test.args); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
