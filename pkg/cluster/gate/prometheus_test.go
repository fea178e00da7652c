package gate_test

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/gate"
)

func vector(samples ...string) string {
	return `{"status":"success","data":{"resultType":"vector","result":[` + strings.Join(samples, ",") + `]}}`
}

func sample(name, value string) string {
	return fmt.Sprintf(`{"metric":{"alertname":%q},"value":[1,%q]}`, name, value)
}

// TestPrometheus checks what each answer of a Prometheus means. lab/e2e asks a real one.
func TestPrometheus(t *testing.T) {
	const other = "/api/v1/query does not answer as a Prometheus does"
	const empty, notEmpty = v1alpha1.ExpectEmpty, v1alpha1.ExpectNotEmpty
	for _, row := range []struct {
		what, answer string
		code         int
		expect       v1alpha1.Expectation
		state        v1alpha1.GateState
		message      string // a part of it
	}{
		{"nothing, as expected", vector(), 200, empty, v1alpha1.GateOpen, "returns nothing"},
		{"nothing, and something is expected", vector(), 200, notEmpty, v1alpha1.GateClosed, "returns nothing"},
		{"an alert", vector(sample("Down", "1")), 200, empty, v1alpha1.GateClosed, `1 result, such as {alertname="Down"} = 1`},
		{"two alerts", vector(sample("Down", "1"), sample("Slow", "1")), 200, empty, v1alpha1.GateClosed, "2 results"},
		{"something, as expected", vector(sample("ok", "3")), 200, notEmpty, v1alpha1.GateOpen, "1 result"},
		{"NaN", vector(sample("ok", "3"), sample("bad", "NaN")), 200, notEmpty, v1alpha1.GateUnknown, `NaN for {alertname="bad"}`},
		{"infinity", vector(sample("ok", "+Inf")), 200, notEmpty, v1alpha1.GateOpen, "1 result"},
		{"a scalar", `{"status":"success","data":{"resultType":"scalar","result":[1,"1"]}}`, 200, empty, v1alpha1.GateUnknown, "scalar"},
		{"a matrix", `{"status":"success","data":{"resultType":"matrix","result":[]}}`, 200, empty, v1alpha1.GateUnknown, "matrix"},
		{"a string", `{"status":"success","data":{"resultType":"string","result":[1,"x"]}}`, 200, empty, v1alpha1.GateUnknown, "string"},
		{"warnings", `{"status":"success","warnings":["a store is away"],"data":{"resultType":"vector","result":[]}}`, 200, empty, v1alpha1.GateUnknown, "a store is away"},
		{"an error of the query", `{"status":"error","errorType":"bad_data","error":"1:3: parse error"}`, 400, empty, v1alpha1.GateUnknown, "parse error"},
		{"a query that takes too long there", `{"status":"error","errorType":"timeout","error":"query timed out"}`, 503, empty, v1alpha1.GateUnknown, "503"},
		{"no access", `nope`, 401, empty, v1alpha1.GateUnknown, "401"},
		{"forbidden", `nope`, 403, empty, v1alpha1.GateUnknown, "403"},
		{"not found", `<html>nothing here</html>`, 404, empty, v1alpha1.GateUnknown, ""},
		{"an error page", `<html>`, 500, empty, v1alpha1.GateUnknown, "500"},
		{"a page that says it is well", `<html>sign in</html>`, 200, empty, v1alpha1.GateUnknown, other},
		{"nothing at all", ``, 200, empty, v1alpha1.GateUnknown, other},
		{"no content", ``, 204, empty, v1alpha1.GateUnknown, "204"},
		{"null", `null`, 200, empty, v1alpha1.GateUnknown, other},
		{"a list", `[]`, 200, empty, v1alpha1.GateUnknown, other},
		{"no data", `{"status":"success"}`, 200, empty, v1alpha1.GateUnknown, other},
		{"data without a result", `{"status":"success","data":{"resultType":"vector"}}`, 200, empty, v1alpha1.GateUnknown, other},
		{"a result that is null", `{"status":"success","data":{"resultType":"vector","result":null}}`, 200, empty, v1alpha1.GateUnknown, other},
		{"no status", `{"data":{"resultType":"vector","result":[]}}`, 200, empty, v1alpha1.GateUnknown, other},
		{"an error that is called 200", `{"status":"error","data":{"resultType":"vector","result":[]},"error":"no"}`, 200, empty, v1alpha1.GateUnknown, other},
		{"samples without a value", `{"status":"success","data":{"resultType":"vector","result":[{}]}}`, 200, notEmpty, v1alpha1.GateUnknown, other},
		{"two answers", vector() + vector(), 200, empty, v1alpha1.GateUnknown, other},
		{"the type last", `{"data":{"result":[],"resultType":"vector"},"status":"success"}`, 200, empty, v1alpha1.GateOpen, "returns nothing"},
		{"a histogram", `{"status":"success","data":{"resultType":"vector","result":[{"metric":{"a":"b"},"histogram":[1,{"count":"1"}]}]}}`, 200, notEmpty, v1alpha1.GateOpen, `{a="b"}`},
		{"half an answer", vector(sample("Down", "1"))[:60], 200, empty, v1alpha1.GateUnknown, other},
		{"a large sample", vector(sample(strings.Repeat("a", 5<<20), "1")), 200, notEmpty, v1alpha1.GateUnknown, "a part of it is larger than 64 KiB"},
		{"too much", vector(slices.Repeat([]string{sample(strings.Repeat("a", 50<<10), "1")}, 100)...), 200, notEmpty, v1alpha1.GateUnknown, "larger than 4 MiB"},
	} {
		t.Run(row.what, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(row.code)
				fmt.Fprint(w, row.answer)
			}))
			defer server.Close()
			check(t, gate.Clients{}, prometheusGate(server.URL, row.expect), row.state, row.message)
		})
	}
}

func prometheusGate(url string, expect v1alpha1.Expectation) v1alpha1.Gate {
	return v1alpha1.Gate{Name: "alerts", TimeoutSeconds: 30, Prometheus: &v1alpha1.PrometheusGate{URL: url, Query: "ALERTS", Expect: expect}}
}

func check(t *testing.T, clients gate.Clients, g v1alpha1.Gate, state v1alpha1.GateState, message string) {
	t.Helper()
	got := clients.Ask(t.Context(), g)
	if got.State != state || !strings.Contains(got.Message, message) {
		t.Errorf("got %s: %s\nwant %s: … %s …", got.State, got.Message, state, message)
	}
	if strings.Contains(got.Message, "\n") || len(got.Message) > 512 || got.Message == "" {
		t.Errorf("the message is not one short line: %q", got.Message)
	}
}

// TestPrometheusIsAway checks that a gate is Unknown while nothing answers, or too slowly.
func TestPrometheusIsAway(t *testing.T) {
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm() // only then the end of the connection is noticed
		<-r.Context().Done()
	}))
	defer silent.Close()
	g := prometheusGate(silent.URL, v1alpha1.ExpectEmpty)
	g.TimeoutSeconds = 1
	began := time.Now()
	check(t, gate.Clients{}, g, v1alpha1.GateUnknown, "no answer within 1s")
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("took %s", took)
	}
	check(t, gate.Clients{}, prometheusGate("http://127.0.0.1:1", v1alpha1.ExpectEmpty), v1alpha1.GateUnknown, "connection refused")
	check(t, gate.Clients{}, prometheusGate("http://no-such-host.invalid:9090", v1alpha1.ExpectEmpty), v1alpha1.GateUnknown, "no-such-host")
	check(t, gate.Clients{}, v1alpha1.Gate{Name: "new", TimeoutSeconds: 1}, v1alpha1.GateUnknown, "no question")
}

// TestSecretsOfGates checks which certificate is trusted, that the token is sent there only, and
// that no message has it.
func TestSecretsOfGates(t *testing.T) {
	const token = "s3cr3t-t0ken"
	var heard []string
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		heard = append(heard, r.Header.Get("Authorization"))
		switch {
		case strings.HasPrefix(r.URL.Path, "/elsewhere"):
			http.Redirect(w, r, "https://"+r.Host+"/prometheus", http.StatusTemporaryRedirect)
		case r.Header.Get("Authorization") != "Bearer "+token:
			http.Error(w, "who are you?", http.StatusUnauthorized)
		default:
			fmt.Fprint(w, vector())
		}
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	defer server.Close()
	certificate := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	other := httptest.NewTLSServer(nil)
	defer other.Close()
	secrets := fake.NewClientset(
		secretOf("ca", "ca.crt", certificate), secretOf("no-ca", "ca.crt", "none"), secretOf("empty", "token", ""),
		secretOf("token", "token", token+"\n"), secretOf("wrong", "token", "other"), secretOf("lines", "token", token+"\nX-Header: 1"),
	)
	clients := gate.Clients{Secrets: secrets.CoreV1()}
	for _, row := range []struct {
		what, path, ca, token string
		state                 v1alpha1.GateState
		message               string
	}{
		{"all is right", "", "ca", "token", v1alpha1.GateOpen, "returns nothing"},
		{"another authority", "", "", "token", v1alpha1.GateUnknown, "certificate"},
		{"a Secret without a certificate", "", "no-ca", "token", v1alpha1.GateUnknown, "no certificate"},
		{"another token", "", "ca", "wrong", v1alpha1.GateUnknown, "401"},
		{"no token", "", "ca", "", v1alpha1.GateUnknown, "401"},
		{"an empty token", "", "ca", "empty", v1alpha1.GateUnknown, "nothing in the key token"},
		{"a token with a second line", "", "ca", "lines", v1alpha1.GateUnknown, "not one word"},
		{"a Secret that does not exist", "", "ca", "gone", v1alpha1.GateUnknown, "kubectl-upgrade/gone does not exist"},
		{"a redirect", "/elsewhere", "ca", "token", v1alpha1.GateUnknown, "another address"},
	} {
		t.Run(row.what, func(t *testing.T) {
			heard = nil
			g := prometheusGate(server.URL+row.path, v1alpha1.ExpectEmpty)
			g.Prometheus.CASecretRef, g.Prometheus.TokenSecretRef = named(row.ca), named(row.token)
			check(t, clients, g, row.state, row.message)
			if answer := clients.Ask(context.Background(), g); strings.Contains(answer.Message, token) {
				t.Errorf("the message has the token: %s", answer.Message)
			}
			if row.path != "" && len(heard) != 2 {
				t.Errorf("%d requests in two questions: a redirect was followed", len(heard))
			}
		})
	}
}

func secretOf(name, key, value string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace, Name: name}, Data: map[string][]byte{key: []byte(value)}}
}

// named returns a reference to the Secret's default key. Nil: the name is empty.
func named(name string) *v1alpha1.SecretKeyReference {
	if name == "" {
		return nil
	}
	return &v1alpha1.SecretKeyReference{Name: name}
}
