package metricsserver

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

func TestMain(m *testing.M) { apitest.Main(m) }

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// account creates a ServiceAccount and returns a token of it.
func account(t *testing.T, client kubernetes.Interface, name string) string {
	t.Helper()
	accounts := client.CoreV1().ServiceAccounts("kubectl-upgrade")
	if _, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	token, err := accounts.CreateToken(t.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return token.Status.Token
}

// coordinator returns access with the coordinator's rights, as manifests/coordinator gives
// them, and an administrator's client.
func coordinator(t *testing.T, counts *atomic.Int64) (*rest.Config, kubernetes.Interface) {
	t.Helper()
	config := apitest.Start(t)
	for _, args := range [][]string{{"-f", "../../../manifests/namespace.yaml"}, {"-k", "../../../manifests/coordinator"}} {
		if out, err := apitest.Kubectl(t, config, append([]string{"apply"}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	client := kubernetes.NewForConfigOrDie(config)
	token, err := client.CoreV1().ServiceAccounts("kubectl-upgrade").CreateToken(t.Context(), "coordinator", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	own := rest.CopyConfig(config)
	own.BearerToken = token.Status.Token
	own.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return trip(func(r *http.Request) (*http.Response, error) { counts.Add(1); return next.RoundTrip(r) })
	})
	return own, client
}

type trip func(*http.Request) (*http.Response, error)

func (t trip) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// start runs a server until the test ends, and returns its address.
func start(t *testing.T, config Config) (*Server, string) {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	config.Address = free.Addr().String()
	free.Close()
	if config.Log == nil {
		config.Log = discard()
	}
	server, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); server.Run(ctx) }()
	t.Cleanup(func() { stop(); <-ended })
	return server, config.Address
}

func insecure() *http.Client {
	return &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true,
	}}
}

// get returns the status and the body, or the error.
func get(url, token string) string {
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return err.Error()
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := insecure().Do(request)
	if err != nil {
		return err.Error()
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(answer.Body)
	return fmt.Sprintf("%d %s", answer.StatusCode, strings.TrimSpace(string(body)))
}

// eventually waits until got returns something with that prefix.
func eventually(t *testing.T, prefix string, got func() string) {
	t.Helper()
	last := ""
	for range 200 {
		if last = got(); strings.HasPrefix(last, prefix) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("got %q, want %q", last, prefix)
}

// TestWhoMayRead checks, on a real API server and with the coordinator's real rights, that
// only a client with a token and the right to read gets metrics, and that an answer is kept.
func TestWhoMayRead(t *testing.T) {
	var requests atomic.Int64
	config, admin := coordinator(t, &requests)
	review, err := NewReviewer(config, discard())
	if err != nil {
		t.Fatal(err)
	}
	_, address := start(t, Config{Review: review, Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("series 1")) })})
	eventually(t, "200 ok", func() string { return get("https://"+address+"/readyz", "") })
	may, other := reader(t, admin, "reader"), account(t, admin, "other")
	time.Sleep(time.Second) // until the binding takes effect
	requests.Store(0)
	for range 3 {
		for _, c := range []struct{ path, token, want string }{
			{"/metrics", may, "200 series 1"},
			{"/metrics", other, `403 Forbidden: user "system:serviceaccount:kubectl-upgrade:other" may not get /metrics`},
			{"/metrics", "", "401 Unauthorized: send a bearer token"},
			{"/metrics", "wrong", "401 Unauthorized"},
			{"/debug/pprof/", may, "404 404 page not found"},
		} {
			if got := get("https://"+address+c.path, c.token); got != c.want {
				t.Errorf("%s: got %q, want %q", c.path, got, c.want)
			}
		}
	}
	if got := requests.Load(); got != 5 {
		t.Errorf("three rounds took %d requests, want 5: two for each token that is known, one for one that is not", got)
	}
	if got := get("http://"+address+"/metrics", may); !strings.HasPrefix(got, "400 ") {
		t.Errorf("without TLS: %s", got)
	}
}

// TestAPIServerUnreachable checks that no client reads metrics while the API server cannot be
// asked.
func TestAPIServerUnreachable(t *testing.T) {
	review, err := NewReviewer(&rest.Config{Host: "https://127.0.0.1:1"}, discard())
	if err != nil {
		t.Fatal(err)
	}
	handler := review.protect(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was read") }))
	answer := httptest.NewRecorder()
	request := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	request.Header.Set("Authorization", "Bearer x")
	handler.ServeHTTP(answer, request)
	if answer.Code != http.StatusServiceUnavailable {
		t.Errorf("got %d", answer.Code)
	}
}

// TestAnswersKept checks that an answer is asked for again after a minute, that many tokens
// do not use up memory, and that those that are refused do not push out one that is accepted.
func TestAnswersKept(t *testing.T) {
	at := time.Unix(0, 0)
	r := newReviewer(nil, discard())
	r.now = func() time.Time { return at }
	keep := func(path string, status int) question {
		q := question{path: path}
		r.keep(q, answer{status: status, until: at.Add(keepFor)})
		return q
	}
	good, first := keep("good", http.StatusOK), keep("first", http.StatusForbidden)
	for i := range 10 * maxKept {
		at = at.Add(time.Millisecond)
		keep(fmt.Sprint(i), http.StatusUnauthorized)
	}
	if len(r.refused) != maxKept || len(r.accepted) != 1 {
		t.Errorf("%d refusals and %d others are kept", len(r.refused), len(r.accepted))
	}
	if said, err := r.known(origin{}, good); said.status != http.StatusOK || err != nil {
		t.Errorf("the good answer is %v, %v", said, err)
	}
	if _, found := r.refused[first]; found {
		t.Error("the oldest refusal is kept, though there is no room")
	}
	at = at.Add(keepFor)
	if said, err := r.known(origin{}, good); said.status != 0 || err != nil {
		t.Errorf("a minute later the answer is %v, %v", said, err)
	}
	keep("good", http.StatusUnauthorized)
	if len(r.accepted) != 0 {
		t.Error("a token that is refused now still has the budget of accepted ones")
	}
}

// TestBudgets checks that a client that sends unknown tokens uses up neither the budget of
// another client, nor that of a token that was accepted before.
func TestBudgets(t *testing.T) {
	at := time.Unix(0, 0)
	r := newReviewer(nil, discard())
	r.now = func() time.Time { return at }
	good := question{path: "good"}
	r.keep(good, answer{status: http.StatusOK, until: at})
	client := func(i int) netip.Prefix { return clientOf(fmt.Sprintf("10.0.%d.%d:1", i/256, i%256)) }
	asked := func(from netip.Prefix, tokens int) (asked int) {
		for i := range tokens {
			if _, err := r.known(origin{client: from}, question{path: fmt.Sprint(from, i)}); err == nil {
				asked++
			}
		}
		return asked
	}
	if got := asked(client(0), 1000); got != clientBurst {
		t.Errorf("one client had %d reviews, want %d", got, clientBurst)
	}
	if got := asked(client(1), 1); got != 1 {
		t.Error("another client has no review")
	}
	total := 0
	for i := range 2 * maxClients {
		total += asked(client(2+i), 1)
	}
	if total != allBurst-clientBurst-1 || len(r.clients) > maxClients+1 {
		t.Errorf("many clients had %d reviews, and %d have a budget", total, len(r.clients))
	}
	if _, err := r.known(origin{client: client(0)}, good); err != nil {
		t.Errorf("the token that was accepted before: %v", err)
	}
	at = at.Add(time.Hour)
	if got := asked(client(5000), 1); got != 1 || len(r.clients) > 2 {
		t.Errorf("an hour later a new client had %d reviews, and %d have a budget", got, len(r.clients))
	}
}

// TestCertificateFiles checks that a certificate that is replaced is used without a
// restart, and that the former one stays while the files are broken.
func TestCertificateFiles(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	write := func(age time.Duration) *x509.Certificate {
		made, err := selfSigned(time.Now().Add(-age))
		if err != nil {
			t.Fatal(err)
		}
		der, err := x509.MarshalPKCS8PrivateKey(made.PrivateKey)
		if err != nil {
			t.Fatal(err)
		}
		for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: made.Certificate[0]}, key: {Type: "PRIVATE KEY", Bytes: der}} {
			if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(file, time.Time{}, time.Now().Add(-age)); err != nil {
				t.Fatal(err)
			}
		}
		parsed, err := x509.ParseCertificate(made.Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	first := write(time.Hour)
	server, address := start(t, Config{CertFile: cert, KeyFile: key, Review: newReviewer(nil, discard()), Metrics: http.NotFoundHandler()})
	var clock atomic.Int64
	server.certs.setClock(func() time.Time { return time.Now().Add(time.Duration(clock.Load())) })
	serves := func(want *x509.Certificate) func() string {
		return func() string {
			clock.Add(int64(time.Minute)) // the files are looked at again
			conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
			if err != nil {
				return err.Error()
			}
			defer conn.Close()
			if !conn.ConnectionState().PeerCertificates[0].Equal(want) {
				return "another certificate"
			}
			return "ok"
		}
	}
	eventually(t, "ok", serves(first))
	second := write(0)
	eventually(t, "ok", serves(second))
	if err := os.WriteFile(cert, []byte("broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "ok", serves(second))
	if _, err := New(Config{CertFile: cert, KeyFile: key, Review: newReviewer(nil, discard()), Log: discard()}); err == nil {
		t.Error("a broken certificate is accepted at the start")
	}
}

// TestCertificateFilesThatComeLater checks that the server makes a certificate while there are no
// files, as before a person has created the Secret, and uses the files as soon as they are there:
// then a client that verifies accepts it, as Prometheus does with manifests/monitoring.
func TestCertificateFilesThatComeLater(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	server, address := start(t, Config{CertFile: cert, KeyFile: key, Review: newReviewer(nil, discard()), Metrics: http.NotFoundHandler()})
	var clock atomic.Int64
	server.certs.setClock(func() time.Time { return time.Now().Add(time.Duration(clock.Load())) })
	made, err := selfSigned(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AddCert(must(x509.ParseCertificate(made.Certificate[0])))
	verified := func() string {
		clock.Add(int64(time.Minute)) // the files are looked at again
		conn, err := tls.Dial("tcp", address, &tls.Config{RootCAs: trusted, ServerName: serverName(t)})
		var unknown x509.UnknownAuthorityError
		switch {
		case errors.As(err, &unknown):
			return "refused"
		case err != nil:
			return err.Error()
		}
		conn.Close()
		return "ok"
	}
	eventually(t, "refused", verified)
	first := server.certs.own
	if eventually(t, "refused", verified); server.certs.own != first {
		t.Error("each look for the files makes a certificate")
	}
	der, err := x509.MarshalPKCS8PrivateKey(made.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{key: {Type: "PRIVATE KEY", Bytes: der}, cert: {Type: "CERTIFICATE", Bytes: made.Certificate[0]}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "ok", verified)
}

// setClock has the certificates tell the time by that clock.
func (c *certificates) setClock(now func() time.Time) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.now = now
}

// serverName returns the name that manifests/monitoring has Prometheus verify.
func serverName(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../../manifests/monitoring/servicemonitor.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(text, []byte("insecureSkipVerify")) {
		t.Error("Prometheus sends its token to a peer that it does not verify")
	}
	_, name, _ := strings.Cut(string(text), "serverName: ")
	name, _, _ = strings.Cut(name, "\n")
	return name
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// TestOwnCertificate checks that a certificate of our own is replaced before it expires.
func TestOwnCertificate(t *testing.T) {
	c, err := newCertificates("", "", discard())
	if err != nil {
		t.Fatal(err)
	}
	first, err := c.get(nil)
	if err != nil {
		t.Fatal(err)
	}
	if same, _ := c.get(nil); same != first {
		t.Error("each handshake makes a certificate")
	}
	for age, same := range map[time.Duration]bool{validFor / 3: true, validFor/2 + time.Minute: false} {
		c := &certificates{own: first, renews: c.renews, now: func() time.Time { return time.Now().Add(age) }}
		if again, _ := c.get(nil); (again == first) != same {
			t.Errorf("after %s it is the same: %t", age, again == first)
		}
	}
}

// TestOneServesOfTwo checks that a server leaves the address to another process, and takes
// it again; and that one whose address is taken tries again.
func TestOneServesOfTwo(t *testing.T) {
	log := &text{}
	server, address := start(t, Config{Review: newReviewer(nil, discard()), Metrics: http.NotFoundHandler(), Log: slog.New(slog.NewTextHandler(log, nil))})
	up := func() string { return get("https://"+address+"/readyz", "") }
	eventually(t, "200", up)
	server.Listen(false)
	eventually(t, "Get", up) // refused
	other, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	server.Listen(true)
	time.Sleep(300 * time.Millisecond)
	other.Close()
	eventually(t, "200", up)
	if got := strings.Count(log.String(), "the metrics are not served"); got != 1 {
		t.Errorf("it logged %d times that the address is taken: %s", got, log)
	}
}

// text is what was logged.
type text struct {
	sync.Mutex
	strings.Builder
}

func (t *text) Write(p []byte) (int, error) {
	t.Lock()
	defer t.Unlock()
	return t.Builder.Write(p)
}

func (t *text) String() string {
	t.Lock()
	defer t.Unlock()
	return t.Builder.String()
}
