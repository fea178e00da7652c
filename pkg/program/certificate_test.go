package program

import (
	"bytes"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/util/cert"
)

// TestCertificateRotates replaces a certificate while it is used.
func TestCertificateRotates(t *testing.T) {
	folder, now := t.TempDir(), time.Now()
	c := &Certificate{CertFile: filepath.Join(folder, "tls.crt"), KeyFile: filepath.Join(folder, "tls.key")}
	write := func(file string, data []byte, number int64) {
		t.Helper()
		at := time.Unix(1_700_000_000+number, 0) // a time of its own, however fast the test is
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
	}
	issue := func(number int64) []byte {
		t.Helper()
		certificate, key, err := cert.GenerateSelfSignedCertKey("localhost", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		write(c.CertFile, certificate, number)
		write(c.KeyFile, key, number)
		block, _ := pem.Decode(certificate)
		return block.Bytes
	}
	check := func(what string, want []byte, problem bool) {
		t.Helper()
		got, err := c.Get(now)
		if (err != nil) != problem || (got == nil) != (want == nil) || got != nil && !bytes.Equal(got.Certificate[0], want) {
			t.Errorf("%s: %v, and the wanted certificate: %t", what, err, got != nil && bytes.Equal(got.Certificate[0], want))
		}
	}
	check("without files", nil, true)
	first := issue(1)
	check("there", first, false)
	second := issue(2)
	check("a moment after it was replaced", first, false)
	now = now.Add(reloadAfter)
	check("replaced", second, false)
	write(c.KeyFile, []byte("half"), 3)
	now = now.Add(reloadAfter)
	check("half written", second, true)
	check("half written, a moment later", second, true)
	fourth := issue(4)
	now = now.Add(reloadAfter)
	check("written", fourth, false)
	fifth := issue(5)
	now = now.Add(-time.Hour)
	check("after the clock was set back", fifth, false)
}
