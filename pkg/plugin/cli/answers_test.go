package cli_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// kubeconfigFor returns a kubeconfig for that address.
func kubeconfigFor(t *testing.T, address string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: %q}}], contexts: [{name: c, context: {cluster: c}}]}`, address)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// clusterCommands are all commands that ask a cluster, and end by themselves.
func clusterCommands() []string {
	return append(append([]string{
		"apply v1.34.5 --yes --detach", "rollback --all --to v1.34.3 --reason x --yes --detach", "reboot w-1 --force --reason x --yes --detach", "certificates renew --reason x --yes --detach", "apply v1.34 --dry-run=server", "status w-1 --log", "status -o json", "status -o wide", "history u", "unfreeze", "block v1.34.5 --reason x", "unblock v1.34.5",
		"doctor", "doctor -o yaml", "follow --leader-context c --soak 1h", "migrate kured", "migrate fluo", "migrate kured --undo --yes --timeout 1s", "plan v1.34", "windows -o json", "certificates -o wide",
	}, viewCommands...), editCommands...)
}

// TestServersThatDoNotEnd checks that answers without an end, and those that send requests away for
// long or for ever, end a command with one line.
func TestServersThatDoNotEnd(t *testing.T) {
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		says   string
	}{
		"endless": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"items":[`))
			item := []byte(strings.Repeat("{},", 1<<18))
			for sent := 0; sent < 1<<30; sent += len(item) {
				if _, err := w.Write(item); err != nil {
					return
				}
			}
		}, "answered with more than 128 MiB, which no API server does"},
		"busy for a day": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "86400")
			w.WriteHeader(http.StatusTooManyRequests)
		}, ""},
		"unavailable for a day": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "86400")
			w.WriteHeader(http.StatusServiceUnavailable)
		}, ""},
		"redirects": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path+"/x", http.StatusTemporaryRedirect)
		}, ""},
		"cut": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte(`{"items":[]}`))
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(test.answer)
			defer server.Close()
			t.Setenv("KUBECONFIG", kubeconfigFor(t, server.URL))
			for _, command := range []string{"windows", "status", "freeze --for 1h --reason x", "suspend u"} {
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				_, errOut, code := runIn(ctx, strings.Fields(command)...)
				if checkOutcome(t, command, errOut, code); code != 1 || !strings.Contains(errOut, test.says) || ctx.Err() != nil {
					t.Errorf("%s: got exit code %d and %q, %v", command, code, errOut, ctx.Err())
				}
				cancel()
				if test.says != "" {
					break // one takes a while
				}
			}
		})
	}
}

// TestAnswersOfNoAPIServer checks that no answer makes a command panic or write more than a line,
// and that a web page is said to be one.
func TestAnswersOfNoAPIServer(t *testing.T) {
	type answer struct {
		kind, body, location string
		code                 int
		says                 string
	}
	var now answer
	policy := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if now.says == "" && strings.HasSuffix(r.URL.Path, "/upgradepolicies/cluster") { // so that no index is read from elsewhere
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(policy))
			return
		}
		w.Header().Set("Content-Type", now.kind)
		if now.location != "" {
			w.Header().Set("Location", now.location)
		}
		w.WriteHeader(now.code)
		_, _ = w.Write([]byte(now.body))
	}))
	defer server.Close()
	policy = fmt.Sprintf(`{"metadata":{"name":"cluster"},"spec":{"mode":"Manage","source":{"url":%q,"transportPolicy":"AllowHTTP"}}}`, server.URL)
	kubeconfig := kubeconfigFor(t, server.URL)
	const page = "that is a proxy or a login page, and no API server"
	for _, now = range []answer{
		{kind: "text/html; charset=utf-8", body: "<html>" + strings.Repeat("<p>Sign in\n", 100), code: 200, says: " answered 200 OK, with a web page: " + page},
		{kind: "text/html", body: "<html>", code: 502, says: " answered 502 Bad Gateway, with a web page: " + page},
		{kind: "text/html", body: "<a>", location: "https://login.example/", code: 302, says: " answered 302 Found to https://login.example/, with a web page: " + page},
		{kind: "application/json", body: "null", code: 200, says: page},
		{kind: "application/json", body: " [1]", code: 200, says: page},
		{kind: "application/json", body: `"x"`, code: 200, says: page},
		{kind: "application/json", body: `{}`, code: 200},
		{kind: "application/json", body: ``, code: 200},
		{kind: "application/json", body: `{"items":[null]}`, code: 200},
		{kind: "application/json", body: `{"items":[{}]}`, code: 200},
		{kind: "application/json", body: `{"items":[{"spec":{"containers":[{}]},"status":{"conditions":[{}]}}]}`, code: 200},
		{kind: "application/json", body: `{"metadata":{"name":"u"},"items":[{"metadata":{"name":"u"}}]}`, code: 201},
		{kind: "application/json", body: `{"metadata":{"name":"w-1"},"items":[{"metadata":{"name":"w-1"}}]}`, code: 200},
		{kind: "application/json", body: `{"items":[`, code: 200},
		{kind: "application/json", body: `{"kind":"Status","apiVersion":"v1","status":"Failure","code":500,"message":"a\nb"}`, code: 500},
		{kind: "application/json", body: `{"kind":"Status"}`, code: 409},
		{kind: "text/plain", body: strings.Repeat("upstream connect error\n", 100), code: 503},
		{kind: "application/vnd.kubernetes.protobuf", body: "k8s\x00\x01", code: 200},
	} {
		for _, command := range clusterCommands() {
			ctx, cancel := context.WithCancel(t.Context())
			_, errOut, code := runIn(ctx, append(strings.Fields(command), "--kubeconfig", kubeconfig, "--cache-dir", t.TempDir())...)
			cancel()
			about := fmt.Sprintf("%s, answered with %d %s %.40q", command, now.code, now.kind, now.body)
			checkOutcome(t, about, errOut, code)
			if now.says != "" && (code != 1 || !strings.Contains(errOut, now.says)) {
				t.Errorf("%s: got exit code %d and %q", about, code, errOut)
			}
		}
	}
}
