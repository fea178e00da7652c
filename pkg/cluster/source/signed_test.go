package source_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/source"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/gpgtest"
)

// TestSignedIndex checks that with a keyring only an index with a good signature of gpg has
// offers.
func TestSignedIndex(t *testing.T) {
	key, other := gpgtest.NewKey(t, "mirror"), gpgtest.NewKey(t, "other")
	index := []byte(hash + "  kubernetes-v1.34.4-x86-64.raw\n")
	tampered := []byte(strings.Repeat("cd", 32) + "  kubernetes-v1.34.4-x86-64.raw\n")
	for name, row := range map[string]struct {
		index, signature []byte
		want             string
	}{
		"good":         {index, key.Sign(t, index), ""},
		"wrong key":    {index, other.Sign(t, index), "/SHA256SUMS is not to be trusted: it is signed by a key that is not in the keyring"},
		"tampered":     {tampered, key.Sign(t, index), "/SHA256SUMS is not to be trusted: its signature is wrong"},
		"no signature": {index, nil, "/SHA256SUMS is not to be trusted: there is no signature SHA256SUMS.gpg beside it, and the UpgradePolicy has a keyring"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Path == "/SHA256SUMS":
					_, _ = w.Write(row.index)
				case r.URL.Path == "/SHA256SUMS.gpg" && row.signature != nil:
					_, _ = w.Write(row.signature)
				default:
					http.NotFound(w, r)
				}
			}))
			defer server.Close()
			got := source.NewPoller(v1alpha1.ImageSource{URL: server.URL, TransportPolicy: v1alpha1.TransportAllowHTTP, Keyring: key.Public}).Read(t.Context())
			if good := row.want == ""; good != (len(got.Offers) == 1) || !strings.Contains(got.Problem.Message, row.want) || good == (got.Problem.Reason == v1alpha1.ReasonSourceInvalid) {
				t.Errorf("%+v, want %q", got, row.want)
			}
		})
	}
}

// TestOldIndex checks that an index is refused that was signed before one that was read, by the
// poller or as the policy's status remembers it.
func TestOldIndex(t *testing.T) {
	key := gpgtest.NewKey(t, "mirror")
	index := []byte(hash + "  kubernetes-v1.34.4-x86-64.raw\n")
	old, young := key.Sign(t, index), []byte(nil)
	for young == nil || bytes.Equal(old, young) { // until the next second
		time.Sleep(1100 * time.Millisecond)
		young = key.Sign(t, index, "--armor")
	}
	served := young
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/SHA256SUMS" {
			_, _ = w.Write(index)
			return
		}
		_, _ = w.Write(served)
	}))
	defer server.Close()
	from := v1alpha1.ImageSource{URL: server.URL, TransportPolicy: v1alpha1.TransportAllowHTTP, Keyring: key.Public}
	newest := source.NewPoller(from).Read(t.Context())
	if newest.Signed.IsZero() || newest.Problem.Holds() {
		t.Fatalf("got %+v", newest)
	}
	if again := source.NewPoller(from).ReadSince(t.Context(), newest.Signed); again.Problem.Holds() {
		t.Errorf("the same one again: %+v", again)
	}
	served = old
	got := source.NewPoller(from).ReadSince(t.Context(), newest.Signed)
	if got.Problem.Reason != v1alpha1.ReasonSourceInvalid || len(got.Offers) > 0 || !strings.Contains(got.Problem.Message, "is not to be trusted: it was signed on ") {
		t.Errorf("an older one: %+v", got)
	}
	if first := source.NewPoller(from).Read(t.Context()); first.Problem.Holds() {
		t.Errorf("the first one that is read: %+v", first)
	}
	from.URL += "/"
	if source.Identity(from) == source.Identity(v1alpha1.ImageSource{URL: server.URL, Keyring: key.Public}) {
		t.Error("another source has the same identity")
	}
}
