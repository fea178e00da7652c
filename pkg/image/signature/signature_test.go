package signature_test

import (
	"strings"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/image/signature"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/gpgtest"
)

// Keys and signatures are gpg's own.
func TestVerify(t *testing.T) {
	key, other := gpgtest.NewKey(t, "mirror"), gpgtest.NewKey(t, "other")
	text := []byte("what is signed\n")
	for name, row := range map[string]struct {
		keyring         string
		text, signature []byte
		want            string
	}{
		"good":            {key.Public, text, key.Sign(t, text), ""},
		"armored":         {key.Public, text, key.Sign(t, text, "--armor"), ""},
		"one of two keys": {other.Public + key.Public, text, key.Sign(t, text), ""},
		"another key":     {other.Public, text, key.Sign(t, text), "it is signed by a key that is not in the keyring"},
		"tampered":        {key.Public, []byte("what is not signed\n"), key.Sign(t, text), "its signature is wrong"},
		"not a signature": {key.Public, text, []byte("<html>"), "its signature is wrong"},
		"none":            {key.Public, text, nil, "its signature is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			keyring, err := signature.ReadKeyring(row.keyring)
			if err != nil {
				t.Fatal(err)
			}
			_, err = keyring.Verify(row.text, row.signature)
			if (err == nil) != (row.want == "") || err != nil && !strings.HasPrefix(err.Error(), row.want) {
				t.Errorf("got %v, want %q", err, row.want)
			}
		})
	}
}

func TestKeyringsThatAreNone(t *testing.T) {
	key := gpgtest.NewKey(t, "mirror")
	for name, row := range map[string]struct{ text, want string }{
		"empty":         {"", "has no armored OpenPGP key"},
		"a word":        {"keys", "has no armored OpenPGP key"},
		"a private key": {key.Private(t), "where only public keys belong"},
		"cut off":       {key.Public[:len(key.Public)/2], "the keyring"},
	} {
		if _, err := signature.ReadKeyring(row.text); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got %v, want %s", name, err, row.want)
		}
	}
}

// What comes from outside never does more than to be refused.
func FuzzReadKeyring(f *testing.F) {
	f.Add("-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nabcd\n-----END PGP PUBLIC KEY BLOCK-----\n", []byte("x"))
	f.Fuzz(func(t *testing.T, armored string, sig []byte) {
		keyring, err := signature.ReadKeyring(armored)
		if err != nil {
			return
		}
		if _, err := keyring.Verify([]byte("text"), sig); err == nil {
			t.Errorf("%q verifies by %q", sig, armored)
		}
	})
}
