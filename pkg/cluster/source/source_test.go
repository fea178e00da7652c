package source_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/source"
)

var hash = strings.Repeat("ab", 32)

func TestParse(t *testing.T) {
	for _, test := range []struct {
		name, index string
		offers      []string
		reason      v1alpha1.Reason
		message     string
	}{
		{"two architectures, among other extensions", hash + "  kubernetes-v1.34.4-x86-64.raw\n" + hash + " *kubernetes-v1.34.4-arm64.raw\n" + hash + "  wasmtime-v24.raw\n" + hash + "  kubernetes-v1.34.conf\n",
			[]string{"v1.34.4 arm64", "v1.34.4 amd64"}, "", ""},
		{"capitals, one twice", strings.ToUpper(hash) + "  kubernetes-v1.34.4-x86-64.raw\n" + hash + "  kubernetes-v1.34.4-x86-64.raw\n",
			[]string{"v1.34.4 amd64"}, "", ""},
		{"what systemd refuses", hash + "  kubernetes-v1.34.4-x86-64.raw\r\n", nil, v1alpha1.ReasonSourceInvalid, "line 1 of http://x/SHA256SUMS has a control character"},
		{"nothing", "", nil, v1alpha1.ReasonSourceEmpty, "lists no Kubernetes image"},
		{"nothing of ours", hash + "  wasmtime-v24.raw\n", nil, v1alpha1.ReasonSourceEmpty, "lists no Kubernetes image"},
		{"not a version, beside a good one", hash + "  kubernetes-latest-x86-64.raw\n" + hash + "  kubernetes-v1.34.4-x86-64.raw\n",
			[]string{"v1.34.4 amd64"}, v1alpha1.ReasonSourceInvalid, `"latest" of kubernetes-latest-x86-64.raw is not a version`},
		{"a pre-release and a build", hash + "  kubernetes-v1.35.0-rc.1-x86-64.raw\n" + hash + "  kubernetes-v1.34.4+k3s1-arm64.raw\n",
			[]string{"v1.34.4+k3s1 arm64", "v1.35.0-rc.1 amd64"}, "", ""},
		{"no leading v", hash + "  kubernetes-1.34.4-x86-64.raw\n", nil, v1alpha1.ReasonSourceInvalid, `"1.34.4"`},
		{"no architecture", hash + "  kubernetes-v1.34.4.raw\n", nil, v1alpha1.ReasonSourceInvalid, "not kubernetes-VERSION-ARCHITECTURE.raw"},
		{"a web page", "<html>\n<body>Not found</body>\n", nil, v1alpha1.ReasonSourceInvalid, `line 1 of http://x/SHA256SUMS is not a sha256 and a file's name`},
		{"cut off in a hash", hash + "  kubernetes-v1.34.4-x86-64.raw\nabcd", nil, v1alpha1.ReasonSourceInvalid, "line 2"},
		{"a name with a path", hash + "  kubernetes-v1.34.4/../x-x86-64.raw\n", nil, v1alpha1.ReasonSourceInvalid, "names no file beside the index"},
		{"two hashes for one", hash + "  kubernetes-v1.34.4-x86-64.raw\n" + strings.Repeat("cd", 32) + "  kubernetes-v1.34.4-x86-64.raw\n", nil, v1alpha1.ReasonSourceInvalid, "two hashes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := source.Parse("http://x/", test.index)
			var offers []string
			for _, o := range got.Offers {
				offers = append(offers, o.Version+" "+string(o.Image.Architecture))
				file := map[string]string{"amd64": "x86-64", "arm64": "arm64"}[string(o.Image.Architecture)]
				if want := "http://x/kubernetes-" + o.Version + "-" + file + ".raw"; o.Image.URL != want || o.Image.Digest.SHA256() != hash {
					t.Errorf("got %+v, want %s %s", o.Image, want, hash)
				}
			}
			if diff := cmp.Diff(test.offers, offers); diff != "" {
				t.Error(diff)
			}
			if got.Problem.Reason != test.reason || !strings.Contains(got.Problem.Message, test.message) {
				t.Errorf("got %s %q, want %s %q", got.Problem.Reason, got.Problem.Message, test.reason, test.message)
			}
		})
	}
}

// TestRead checks that an unchanged index is not sent again, that a missing one ends its offers,
// and that it is read again once it is back.
func TestRead(t *testing.T) {
	index, status, sent := hash+"  kubernetes-v1.34.4-x86-64.raw\n", http.StatusOK, 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/images/SHA256SUMS" {
			t.Errorf("asked for %s", r.URL.Path)
		}
		tag := `"` + index[:4] + `"`
		w.Header().Set("ETag", tag)
		switch {
		case status != http.StatusOK:
			w.WriteHeader(status)
		case r.Header.Get("If-None-Match") == tag:
			w.WriteHeader(http.StatusNotModified)
		default:
			sent++
			_, _ = w.Write([]byte(index))
		}
	}))
	defer server.Close()
	p := source.NewPoller(v1alpha1.ImageSource{URL: server.URL + "/images", TransportPolicy: v1alpha1.TransportAllowHTTP})
	read := func(offers int, reason v1alpha1.Reason, sentSoFar int) {
		t.Helper()
		got := p.Read(context.Background())
		if len(got.Offers) != offers || got.Problem.Reason != reason || sent != sentSoFar {
			t.Errorf("got %d offers, %q, sent %d times; want %d, %q, %d", len(got.Offers), got.Problem.Reason, sent, offers, reason, sentSoFar)
		}
	}
	read(1, "", 1)
	read(1, "", 1)
	status = http.StatusServiceUnavailable
	read(0, v1alpha1.ReasonSourceUnavailable, 1)
	status = http.StatusOK
	read(1, "", 1)
	index = strings.Repeat("cd", 32) + "  other.raw\n"
	read(0, v1alpha1.ReasonSourceEmpty, 2)
	index = strings.Repeat("x", 5<<20)
	read(0, v1alpha1.ReasonSourceUnavailable, 3)
	server.Close()
	read(0, v1alpha1.ReasonSourceUnavailable, 3)
	if message := p.Read(context.Background()).Problem.Message; !strings.Contains(message, "/images/SHA256SUMS: ") || strings.Count(message, "SHA256SUMS") != 1 {
		t.Errorf("the message does not name the address once: %s", message)
	}
}

// TestRedirectToPlainHTTP checks that a redirect from https to http is refused.
func TestRedirectToPlainHTTP(t *testing.T) {
	asked := false
	plain := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer plain.Close()
	safe := httptest.NewTLSServer(http.RedirectHandler(plain.URL, http.StatusFound))
	defer safe.Close()
	transport := http.DefaultTransport
	http.DefaultTransport = safe.Client().Transport
	defer func() { http.DefaultTransport = transport }()
	got := source.NewPoller(v1alpha1.ImageSource{URL: safe.URL}).Read(t.Context())
	if !strings.Contains(got.Problem.Message, "which can be changed on its way") || asked {
		t.Errorf("got %+v; the http server got a request: %v", got, asked)
	}
}

// TestProblemIsStable checks that the message of a problem does not contain the local port.
func TestProblemIsStable(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		connection, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_ = connection.(*net.TCPConn).SetLinger(0) // closes with a reset
		_ = connection.Close()
	}))
	defer server.Close()
	poller := source.NewPoller(v1alpha1.ImageSource{URL: server.URL, TransportPolicy: v1alpha1.TransportAllowHTTP})
	first := poller.Read(t.Context())
	if first.Problem.Reason != v1alpha1.ReasonSourceUnavailable || !strings.Contains(first.Problem.Message, "reset") {
		t.Fatalf("%+v", first.Problem)
	}
	if diff := cmp.Diff(first, poller.Read(t.Context())); diff != "" {
		t.Error(diff)
	}
}

// TestInvalidSourcesAreNotRead checks that an invalid source is refused without a request.
func TestInvalidSourcesAreNotRead(t *testing.T) {
	asked := false
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer server.Close()
	const address, keyring = "spec.source.url of UpgradePolicy cluster: ", "spec.source.keyring of UpgradePolicy cluster: the keyring "
	const plain = "spec.source.url of UpgradePolicy cluster: http://x/ can be changed on its way: use https, or accept that with spec.source.transportPolicy: AllowHTTP"
	for _, row := range []struct {
		source v1alpha1.ImageSource
		want   string
	}{
		{v1alpha1.ImageSource{}, address},
		{v1alpha1.ImageSource{URL: "ftp://x/"}, address},
		{v1alpha1.ImageSource{URL: "/images"}, address},
		{v1alpha1.ImageSource{URL: "http://"}, address},
		{v1alpha1.ImageSource{URL: server.URL + "/?a=b"}, address},
		{v1alpha1.ImageSource{URL: server.URL, TransportPolicy: v1alpha1.TransportAllowHTTP, Keyring: "-----BEGIN PGP PUBLIC KEY BLOCK-----"}, keyring},
		{v1alpha1.ImageSource{URL: server.URL, TransportPolicy: v1alpha1.TransportAllowHTTP, Keyring: "keys"}, keyring},
		{v1alpha1.ImageSource{URL: "http://x/"}, plain},
	} {
		if err := source.Check(row.source); err == nil || !strings.HasPrefix(err.Error(), row.want) {
			t.Errorf("%+v: got %v, want %s", row.source, err, row.want)
		}
		got := source.NewPoller(row.source).Read(t.Context())
		if len(got.Offers) > 0 || got.Problem.Reason != v1alpha1.ReasonSourceInvalid || !strings.HasPrefix(got.Problem.Message, row.want) {
			t.Errorf("%+v offers %+v", row.source, got)
		}
	}
	if asked {
		t.Error("the server got a request")
	}
}
