//go:build integration

package sysupdate_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/image/signature"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// TestStageSigned checks that the node stages from an index that gpg signed only with the right
// key, and that the key is not left on the node.
func TestStageSigned(t *testing.T) {
	key, other := newSigner(t, "mirror"), newSigner(t, "other")
	good := func(index []byte) []byte { return key.sign(t, index) }
	for name, row := range map[string]struct {
		keyring string
		sign    func([]byte) []byte
		want    string
	}{
		"good":         {key.public, good, ""},
		"two keys":     {other.public + key.public, good, ""},
		"wrong key":    {other.public, good, "SHA256SUMS is not to be trusted: it is signed by a key that is not in the keyring"},
		"no signature": {key.public, nil, "SHA256SUMS is not to be trusted: there is no signature SHA256SUMS.gpg beside it"},
		"tampered":     {key.public, func(index []byte) []byte { return key.sign(t, append(index, '\n')) }, "SHA256SUMS is not to be trusted: its signature is wrong"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPublisher(t, "v1.34.3", "v1.34.4")
			p.keyring, p.sign = row.keyring, row.sign
			newNode(t, p.url)
			_, err := stage(t, p, "v1.34.4", "v1.34.4")
			if row.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				wantNode(t, "v1.34.3", "v1.34.3", "v1.34.4")
			} else {
				wantReason(t, err, v1alpha1.ReasonSignatureInvalid)
				if err == nil || !strings.Contains(err.Error(), row.want) || p.downloads("v1.34.4") > 0 {
					t.Errorf("got %v, want %s; %d downloads", err, row.want, p.downloads("v1.34.4"))
				}
				wantNode(t, "v1.34.3", "v1.34.3")
			}
			if _, err := os.Stat("/etc/systemd/import-pubring.gpg"); err == nil {
				t.Error("the key was left for the whole node")
			}
		})
	}
}

// TestSysupdateChecksTheSignature checks that systemd-sysupdate refuses an index that was
// replaced after our own check, also if the vendor of the operating system has signed it: since
// systemd 262 the vendor's keys count beside those in /etc.
func TestSysupdateChecksTheSignature(t *testing.T) {
	key, other := newSigner(t, "mirror"), newSigner(t, "other")
	p := newPublisher(t, "v1.34.3", "v1.34.4")
	looks := 0
	p.keyring, p.sign = key.public, func(index []byte) []byte {
		if looks++; looks == 1 {
			return key.sign(t, index)
		}
		return other.sign(t, index)
	}
	newNode(t, p.url)
	vendor, err := signature.ReadKeyring(other.public)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"import-pubring.gpg", "import-pubring.pgp"} {
		path := filepath.Join("/usr/lib/systemd", name)
		write(t, path, string(vendor.Binary()))
		t.Cleanup(func() { _ = os.Remove(path) })
	}
	_, err = stage(t, p, "v1.34.4", "v1.34.4")
	wantReason(t, err, v1alpha1.ReasonSignatureInvalid)
	if looks < 2 {
		t.Errorf("the signature was asked for %d times: systemd-sysupdate did not look", looks)
	}
	wantNode(t, "v1.34.3", "v1.34.3")
	if list, err := exec.CommandContext(t.Context(), host.Sysupdate, "-C", "kubernetes", "list").CombinedOutput(); err != nil {
		t.Errorf("the node's own systemd-sysupdate is disturbed: %v\n%s", err, list)
	}
}

// TestStageAsksForTheSignatureOfAnImageOnTheDisk checks that an image that is on the disk
// already counts as staged only once a signed index has listed it, and that the node remembers
// it for this keyring alone.
func TestStageAsksForTheSignatureOfAnImageOnTheDisk(t *testing.T) {
	key, other := newSigner(t, "mirror"), newSigner(t, "other")
	p := newPublisher(t, "v1.34.3", "v1.34.4")
	newNode(t, p.url)
	install(t, "v1.34.4", "v1.34.4")
	try := func(what string, want v1alpha1.Reason, keyring string, sign func([]byte) []byte, offered string) {
		t.Helper()
		p.keyring, p.sign = keyring, sign
		p.publish("v1.34.4", offered)
		out, err := stage(t, p, "v1.34.4", "v1.34.4")
		if got := host.ReasonOf(err, ""); got != want || out.Downloaded || p.downloads("v1.34.4") > 0 || (err == nil) != (want == "") {
			t.Errorf("%s: reason %q (%v), want %q; downloaded %t", what, got, err, want, out.Downloaded)
		}
		wantNode(t, "v1.34.3", "v1.34.3", "v1.34.4")
	}
	signed := func(index []byte) []byte { return key.sign(t, index) }
	try("no signature", v1alpha1.ReasonSignatureInvalid, key.public, nil, "v1.34.4")
	try("another key", v1alpha1.ReasonSignatureInvalid, other.public, signed, "v1.34.4")
	try("another image is signed", v1alpha1.ReasonHashMismatch, key.public, signed, "wrong")
	url := p.url
	p.url = "http://127.0.0.1:1/"
	try("no source", v1alpha1.ReasonSourceUnavailable, key.public, signed, "v1.34.4")
	p.url = url
	try("it is signed", "", key.public, signed, "v1.34.4")
	p.url = "http://127.0.0.1:1/"
	try("no source, but it was signed", "", key.public, nil, "v1.34.4")
	try("no source, and other keys", v1alpha1.ReasonSourceUnavailable, other.public, nil, "v1.34.4")
	try("no source, and no keyring", "", "", nil, "v1.34.4")
}
