// Package signature verifies detached OpenPGP signatures with a keyring that an
// administrator of the cluster provides.
//
// It promises:
//
//   - Only the keys of that keyring count, and each as long as it is valid.
//   - What cannot be read verifies nothing.
package signature

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	pgperrors "github.com/ProtonMail/go-crypto/openpgp/errors"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// begin is how each armored block begins.
const begin = "-----BEGIN PGP "

// Size is how many bytes a signature may have at most.
const Size = 64 << 10

// Keyring are public keys.
type Keyring struct {
	keys   openpgp.EntityList
	binary []byte
}

// ReadKeyring reads armored public keys, as `gpg --export --armor` writes them: one
// block, or several one after the other.
func ReadKeyring(armored string) (*Keyring, error) {
	k := &Keyring{}
	for _, text := range strings.Split(armored, begin)[1:] {
		block, err := armor.Decode(strings.NewReader(begin + text))
		if err != nil {
			return nil, fmt.Errorf("the keyring is not armored OpenPGP keys: %w", err)
		}
		if block.Type != openpgp.PublicKeyType {
			return nil, fmt.Errorf("the keyring has a %q, where only public keys belong", block.Type)
		}
		binary, err := io.ReadAll(block.Body)
		if err != nil {
			return nil, fmt.Errorf("the keyring is not armored OpenPGP keys: %w", err)
		}
		k.binary = append(k.binary, binary...)
	}
	if len(k.binary) == 0 {
		return nil, errors.New("the keyring has no armored OpenPGP key: want what gpg --export --armor writes")
	}
	var err error
	if k.keys, err = openpgp.ReadKeyRing(bytes.NewReader(k.binary)); err != nil {
		return nil, fmt.Errorf("the keyring cannot be read: %w", err)
	}
	return k, nil
}

// Binary returns the keys as gpg's --keyring takes them.
func (k *Keyring) Binary() []byte { return k.binary }

// Verify returns when text was signed. It returns an error unless signature, armored or not, is a
// signature of text by a key of the keyring that is valid now.
func (k *Keyring) Verify(text, signature []byte) (signed time.Time, err error) {
	if len(signature) == 0 {
		return signed, errors.New("its signature is empty")
	}
	var binary io.Reader = bytes.NewReader(signature)
	if bytes.HasPrefix(bytes.TrimSpace(signature), []byte(begin)) {
		block, err := armor.Decode(binary)
		if err != nil || block.Type != openpgp.SignatureType {
			return signed, errors.New("its signature is wrong: it is not armored as one")
		}
		binary = block.Body
	}
	made, _, err := openpgp.VerifyDetachedSignature(k.keys, bytes.NewReader(text), binary, &packet.Config{})
	switch {
	case err == nil:
		return made.CreationTime, nil
	case errors.Is(err, pgperrors.ErrUnknownIssuer):
		return signed, errors.New("it is signed by a key that is not in the keyring")
	case errors.Is(err, pgperrors.ErrKeyExpired), errors.Is(err, pgperrors.ErrSignatureExpired), errors.Is(err, pgperrors.ErrKeyRevoked):
		return signed, fmt.Errorf("its signature is no longer valid: %w", err)
	}
	return signed, fmt.Errorf("its signature is wrong: %w", err)
}
