package facts

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// find finds the kubelet of a node with these files only.
func (files tree) find(t *testing.T, unit service) *Kubelet {
	t.Helper()
	g := newGatherer(files.on(t), services{}.ask)
	return g.findKubelet(unit)
}

// portOf returns the port of a server.
func portOf(t *testing.T, server *httptest.Server) string {
	t.Helper()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func TestProblem(t *testing.T) {
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte("[-]syncloop failed"))
	}))
	defer server.Close()
	files := tree{host.KubeletConfig: "healthzPort: " + portOf(t, server) + "\n", "/proc/7/cmdline": "/usr/bin/kubelet\x00", "/proc/7/cgroup": "0::/system.slice/kubelet.service\n"}
	if got := files.find(t, service{}).Problem(t.Context()); got != "" {
		t.Errorf("a healthy kubelet: got %q, want nothing", got)
	}
	status = http.StatusInternalServerError
	if got, want := files.find(t, service{}).Problem(t.Context()), "the kubelet's health endpoint answers 500: [-]syncloop failed"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	server.Close()
	if got := files.find(t, service{}).Problem(t.Context()); !strings.Contains(got, "does not answer") {
		t.Errorf("no endpoint: got %q", got)
	}
	files["/proc/7/cgroup"] = "0::/kubepods.slice/pod1\n"
	if got, want := files.find(t, service{}).Problem(t.Context()), "the kubelet does not run"; got != want {
		t.Errorf("a pod's process of that name: got %q, want %q", got, want)
	}
}

// TestProblemWithoutHealthEndpoint has kubelets whose health endpoint is switched off.
func TestProblemWithoutHealthEndpoint(t *testing.T) {
	refuse := &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		return nil, errors.New("no serving certificate available for the kubelet")
	}}
	serving := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	waiting := httptest.NewUnstartedServer(http.NotFoundHandler())
	waiting.TLS = refuse
	waiting.StartTLS()
	waiting.TLS.Certificates = nil // only GetCertificate counts
	plain := httptest.NewServer(http.NotFoundHandler())
	gone := httptest.NewServer(http.NotFoundHandler())
	for _, s := range []*httptest.Server{serving, waiting, plain} {
		s.Config.ErrorLog = nil
		defer s.Close()
	}
	gone.Close()
	for name, test := range map[string]struct {
		args, config string
		want         string
	}{
		"it serves its API":       {"", "healthzPort: 0\nport: " + portOf(t, serving) + "\n", ""},
		"by flags":                {"\x00--healthz-port=0\x00--port\x00" + portOf(t, serving) + "\x00--address=0.0.0.0", "port: " + portOf(t, gone) + "\n", ""},
		"no certificate yet":      {"", "healthzPort: 0\nport: " + portOf(t, waiting) + "\n", ""},
		"no TLS":                  {"", "healthzPort: 0\nport: " + portOf(t, plain) + "\n", "does not answer"},
		"nothing there":           {"", "healthzPort: 0\nport: " + portOf(t, gone) + "\n", "its API at 127.0.0.1:" + portOf(t, gone) + " does not answer"},
		"it serves nothing":       {"", "healthzPort: 0\nenableServer: false\nport: " + portOf(t, gone) + "\n", ""},
		"it serves, by a flag":    {"\x00--enable-server=true", "healthzPort: 0\nenableServer: false\nport: " + portOf(t, gone) + "\n", "does not answer"},
		"it serves none, by flag": {"\x00--enable-server=false", "healthzPort: 0\nport: " + portOf(t, gone) + "\n", ""},
	} {
		files := tree{host.KubeletConfig: test.config, "/proc/7/cmdline": "/usr/bin/kubelet" + test.args + "\x00"}
		if got := files.find(t, service{main: 7}).Problem(t.Context()); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

func TestHealthAddress(t *testing.T) {
	const dropIns = "/etc/kubernetes/kubelet.conf.d"
	for name, test := range map[string]struct {
		config, dropIn string
		args           string
		want           string
	}{
		"defaults":              {"", "", "", "127.0.0.1:10248"},
		"config.yaml":           {"healthzPort: 10300\nhealthzBindAddress: 10.0.0.1\n", "", "", "10.0.0.1:10300"},
		"every address":         {"healthzBindAddress: 0.0.0.0\n", "", "", "127.0.0.1:10248"},
		"disabled":              {"healthzPort: 0\n", "", "", ""},
		"disabled by a flag":    {"healthzPort: 10300\n", "", "--healthz-port=0", ""},
		"flags come first":      {"healthzPort: 0\n", "", "--healthz_port=10400\x00--healthz-bind-address\x0010.0.0.2", "10.0.0.2:10400"},
		"config.yaml is broken": {"healthzPort: [\n", "", "", "127.0.0.1:10248"},
		"a drop-in":             {"healthzPort: 0\nhealthzBindAddress: 10.0.0.1\n", "healthzPort: 10300\n", "--config-dir=" + dropIns, "10.0.0.1:10300"},
		"disabled by a drop-in": {"healthzPort: 10300\n", "healthzPort: 0\n", "--config-dir=" + dropIns, ""},
		"an unnamed drop-in":    {"healthzPort: 10300\n", "healthzPort: 0\n", "", "127.0.0.1:10300"},
	} {
		files := tree{host.KubeletConfig: test.config, dropIns + "/50.conf": test.dropIn, "/proc/7/cmdline": "/usr/bin/kubelet\x00" + test.args + "\x00"}
		if got := files.find(t, service{main: 7}).healthAddress(); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
