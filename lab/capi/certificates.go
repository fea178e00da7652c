package capi

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// certificates are the files of the management cluster's one certificate authority, of the one server
// certificate for its API server and for all webhooks, which listen on loopback, and of the certificate
// with which Cluster API asks runtime extensions.
type certificates struct{ dir string }

func (c certificates) authority() string      { return filepath.Join(c.dir, "ca.crt") }
func (c certificates) certificate() string    { return filepath.Join(c.dir, "tls.crt") }
func (c certificates) key() string            { return filepath.Join(c.dir, "tls.key") }
func (c certificates) client() string         { return filepath.Join(c.dir, "client.crt") }
func (c certificates) clientKey() string      { return filepath.Join(c.dir, "client.key") }
func (c certificates) serviceAccount() string { return filepath.Join(c.dir, "sa.key") }

// lifetime is longer than that of any lab.
const lifetime = 10 * 365 * 24 * time.Hour

// make makes the files once: clients that run on know them.
func (c certificates) make() error {
	if _, err := os.Stat(c.serviceAccount()); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := c.write(); err != nil {
		return fmt.Errorf("making certificates in %s: %w", c.dir, err)
	}
	return nil
}

func (c certificates) write() error {
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	now := time.Now()
	authorityKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "management cluster of the lab"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(lifetime),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	server := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "localhost"},
		NotBefore: authority.NotBefore, NotAfter: authority.NotAfter,
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.ParseIP(loopback)},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	client := &x509.Certificate{
		SerialNumber: big.NewInt(3), Subject: pkix.Name{CommonName: "cluster-api"},
		NotBefore: authority.NotBefore, NotAfter: authority.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if err := signed(c.authority(), authority, authority, authorityKey, authorityKey); err != nil {
		return err
	}
	for _, made := range []struct {
		template         *x509.Certificate
		certificate, key string
	}{{server, c.certificate(), c.key()}, {client, c.client(), c.clientKey()}} {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return err
		}
		if err := signed(made.certificate, made.template, authority, key, authorityKey); err != nil {
			return err
		}
		if err := writeKey(made.key, key); err != nil {
			return err
		}
	}
	// The key of service accounts comes last: with it all files are there.
	accounts, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	return writeKey(c.serviceAccount(), accounts)
}

func signed(path string, certificate, authority *x509.Certificate, key, authorityKey *ecdsa.PrivateKey) error {
	der, err := x509.CreateCertificate(rand.Reader, certificate, authority, &key.PublicKey, authorityKey)
	if err != nil {
		return err
	}
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644)
}

func writeKey(path string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600)
}
