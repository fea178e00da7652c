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
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/source"
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
			[]string{"v1.34.4 arm64", "v1.34.4 x86-64"}, "", ""},
		{"windows line ends, capitals, one twice", strings.ToUpper(hash) + "  kubernetes-v1.34.4-x86-64.raw\r\n\r\n" + hash + "  kubernetes-v1.34.4-x86-64.raw\r\n",
			[]string{"v1.34.4 x86-64"}, "", ""},
		{"nothing", "", nil, v1alpha1.ReasonSourceEmpty, "lists no Kubernetes image"},
		{"nothing of ours", hash + "  wasmtime-v24.raw\n", nil, v1alpha1.ReasonSourceEmpty, "lists no Kubernetes image"},
		{"not a version, beside a good one", hash + "  kubernetes-latest-x86-64.raw\n" + hash + "  kubernetes-v1.34.4-x86-64.raw\n",
			[]string{"v1.34.4 x86-64"}, v1alpha1.ReasonSourceInvalid, `"latest" of kubernetes-latest-x86-64.raw is not a version`},
		{"a pre-release and a build", hash + "  kubernetes-v1.35.0-rc.1-x86-64.raw\n" + hash + "  kubernetes-v1.34.4+k3s1-arm64.raw\n",
			[]string{"v1.34.4+k3s1 arm64", "v1.35.0-rc.1 x86-64"}, "", ""},
		{"no leading v", hash + "  kubernetes-1.34.4-x86-64.raw\n", nil, v1alpha1.ReasonSourceInvalid, `"1.34.4"`},
		{"no architecture", hash + "  kubernetes-v1.34.4.raw\n", nil, v1alpha1.ReasonSourceInvalid, "not kubernetes-VERSION-ARCHITECTURE.raw"},
		{"a web page", "<html>\n<body>Not found</body>\n", nil, v1alpha1.ReasonSourceInvalid, `line 1 of http://x/SHA256SUMS is not a sha256 and a file's name: "<html>"`},
		{"cut off in a hash", hash + "  kubernetes-v1.34.4-x86-64.raw\nabcd", nil, v1alpha1.ReasonSourceInvalid, "line 2"},
		{"a name with a path", hash + "  kubernetes-v1.34.4/../x-x86-64.raw\n", nil, v1alpha1.ReasonSourceInvalid, "is not a version"},
		{"two hashes for one", hash + "  kubernetes-v1.34.4-x86-64.raw\n" + strings.Repeat("cd", 32) + "  kubernetes-v1.34.4-x86-64.raw\n", nil, v1alpha1.ReasonSourceInvalid, "two hashes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := source.Parse("http://x/", test.index)
			var offers []string
			for _, o := range got.Offers {
				offers = append(offers, o.Version+" "+o.Image.Architecture)
				if want := "http://x/kubernetes-" + o.Version + "-" + o.Image.Architecture + ".raw"; o.Image.URL != want || o.Image.SHA256 != hash {
					t.Errorf("got %+v, want %s %s", o.Image, want, hash)
				}
			}
			if diff := cmp.Diff(test.offers, offers); diff != "" {
				t.Error(diff)
			}
			if got.Trouble.Reason != test.reason || !strings.Contains(got.Trouble.Message, test.message) {
				t.Errorf("got %s %q, want %s %q", got.Trouble.Reason, got.Trouble.Message, test.reason, test.message)
			}
		})
	}
}

// An index that did not change is asked for and not sent; one that is gone
// takes its offers with it; one that comes back is read again.
func TestLook(t *testing.T) {
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
	p, err := source.NewPoller(server.URL + "/images")
	if err != nil {
		t.Fatal(err)
	}
	look := func(offers int, reason v1alpha1.Reason, sentSoFar int) {
		t.Helper()
		got := p.Look(context.Background())
		if len(got.Offers) != offers || got.Trouble.Reason != reason || sent != sentSoFar {
			t.Errorf("got %d offers, %q, sent %d times; want %d, %q, %d", len(got.Offers), got.Trouble.Reason, sent, offers, reason, sentSoFar)
		}
	}
	look(1, "", 1)
	look(1, "", 1)
	status = http.StatusServiceUnavailable
	look(0, v1alpha1.ReasonSourceUnavailable, 1)
	status = http.StatusOK
	look(1, "", 1)
	index = strings.Repeat("cd", 32) + "  other.raw\n"
	look(0, v1alpha1.ReasonSourceEmpty, 2)
	index = strings.Repeat("x", 5<<20)
	look(0, v1alpha1.ReasonSourceUnavailable, 3)
	server.Close()
	look(0, v1alpha1.ReasonSourceUnavailable, 3)
	if message := p.Look(context.Background()).Trouble.Message; !strings.Contains(message, "/images/SHA256SUMS: ") || strings.Count(message, "SHA256SUMS") != 1 {
		t.Errorf("the message does not name the address once: %s", message)
	}
}

// The same trouble is told in the same words, whatever port we had this time.
func TestTroubleIsTheSameEachTime(t *testing.T) {
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
	poller, err := source.NewPoller(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	first := poller.Look(t.Context())
	if first.Trouble.Reason != v1alpha1.ReasonSourceUnavailable || !strings.Contains(first.Trouble.Message, "reset") {
		t.Fatalf("%+v", first.Trouble)
	}
	if diff := cmp.Diff(first, poller.Look(t.Context())); diff != "" {
		t.Error(diff)
	}
}

func TestBadAddress(t *testing.T) {
	for _, base := range []string{"", "ftp://x/", "/images", "http://", "http://x/?a=b"} {
		if _, err := source.NewPoller(base); err == nil {
			t.Errorf("NewPoller(%q) accepts it", base)
		}
	}
}
