//go:build prometheus

package monitoring

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// run starts a program that ends with the test, and whose output the test prints if it fails.
func run(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%v; `make e2e-metrics` installs it", err)
	}
	output, err := os.Create(filepath.Join(t.TempDir(), "output"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = t.TempDir(), output, output
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if t.Failed() {
			text, _ := os.ReadFile(output.Name())
			t.Logf("the end of the output of %s:\n%s", filepath.Base(name), text[max(0, len(text)-4000):])
		}
	})
	return cmd
}

// build returns the program that is the coordinator: $COORDINATOR, or else it builds it.
func build(t *testing.T) string {
	t.Helper()
	if file := os.Getenv("COORDINATOR"); file != "" {
		return file
	}
	file := filepath.Join(t.TempDir(), "coordinator")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", file, "../../cmd/coordinator").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return file
}

// kubeconfig writes a kubeconfig with that token.
func kubeconfig(t *testing.T, config *rest.Config, token string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	err := clientcmd.WriteToFile(api.Config{
		Clusters:       map[string]*api.Cluster{"apitest": {Server: config.Host, CertificateAuthority: config.CAFile}},
		AuthInfos:      map[string]*api.AuthInfo{"account": {Token: token}},
		Contexts:       map[string]*api.Context{"apitest": {Cluster: "apitest", AuthInfo: "account"}},
		CurrentContext: "apitest",
	}, file)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func kubectl(t *testing.T, config *rest.Config, args ...string) {
	t.Helper()
	if out, err := apitest.Kubectl(t, config, args...).CombinedOutput(); err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// get returns the HTTP status, and decodes the body as JSON if into is not nil.
func get(t *testing.T, address, token string, into any) (int, string) {
	t.Helper()
	request, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	answer, err := client.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err.Error()
	}
	if into != nil {
		if err := json.Unmarshal(body, into); err != nil {
			return answer.StatusCode, err.Error()
		}
	}
	return answer.StatusCode, string(body)
}

// eventually waits, for a minute at most, until check returns no problem.
func eventually(t *testing.T, check func() string) {
	t.Helper()
	problem, deadline := check(), time.Now().Add(time.Minute)
	for ; problem != ""; problem = check() {
		if time.Now().After(deadline) {
			t.Fatal(problem)
		}
		time.Sleep(time.Second)
	}
}

// prometheus is a Prometheus that runs.
type prometheus struct {
	*testing.T
	address string
}

type sample struct {
	Metric map[string]string
	Value  []any
}

// query returns the result of a query. NaN counts as none.
func (p prometheus) query(text string) []sample {
	p.Helper()
	var answer struct {
		Status, Error string
		Data          struct {
			ResultType string
			Result     []sample
		}
	}
	if code, body := get(p.T, p.address+"/api/v1/query?query="+url.QueryEscape(text), "", &answer); code != http.StatusOK {
		p.Fatalf("%s: %d %s", text, code, body)
	}
	var list []sample
	for _, s := range answer.Data.Result {
		if len(s.Value) == 2 && fmt.Sprint(s.Value[1]) != "NaN" {
			list = append(list, s)
		}
	}
	return list
}
