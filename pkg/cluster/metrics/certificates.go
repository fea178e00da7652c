package metrics

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/big"
	"os"
	"sync"
	"time"
)

const (
	// validFor is how long a certificate of our own is valid. It is replaced after half
	// of that.
	validFor = 90 * 24 * time.Hour
	// readEvery is how often the files are looked at.
	readEvery = 10 * time.Second
)

// certificates has the server's certificate.
type certificates struct {
	certFile, keyFile string
	log               *slog.Logger

	mutex   sync.Mutex
	current *tls.Certificate
	files   [2]time.Time // when the files were changed, as they were read
	next    time.Time    // when to look again
	own     time.Time    // when to replace a certificate of our own
}

// newCertificates reads the files, or makes a certificate while there are none.
func newCertificates(certFile, keyFile string, log *slog.Logger) (*certificates, error) {
	c := &certificates{certFile: certFile, keyFile: keyFile, log: log}
	if err := c.renew(time.Now()); err != nil {
		return nil, err
	}
	return c, nil
}

// get implements tls.Config.GetCertificate. While the files cannot be read, the last
// certificate stays.
func (c *certificates) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if now := time.Now(); !now.Before(c.next) {
		if err := c.renew(now); err != nil {
			c.log.Warn("keeping the former certificate of the metrics", "error", err)
		}
	}
	return c.current, nil
}

func (c *certificates) renew(now time.Time) error {
	if c.certFile == "" {
		return c.make(now)
	}
	c.next = now.Add(readEvery)
	var changed [2]time.Time
	for i, file := range []string{c.certFile, c.keyFile} {
		info, err := os.Stat(file)
		if errors.Is(err, fs.ErrNotExist) && c.files == [2]time.Time{} {
			return c.makeMeanwhile(now)
		}
		if err != nil {
			return fmt.Errorf("reading the certificate: %w", err)
		}
		changed[i] = info.ModTime()
	}
	if c.current != nil && changed == c.files {
		return nil
	}
	read, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return fmt.Errorf("reading the certificate %s: %w", c.certFile, err)
	}
	c.current, c.files = &read, changed
	return nil
}

// make replaces the certificate by one of our own.
func (c *certificates) make(now time.Time) error {
	made, err := selfSigned(now)
	if err == nil {
		c.current, c.own, c.next = made, now.Add(validFor/2), now.Add(validFor/2)
	}
	return err
}

// makeMeanwhile has a certificate of our own until the files are there. The metrics are
// served, but a client that verifies refuses them.
func (c *certificates) makeMeanwhile(now time.Time) error {
	if c.current == nil || !now.Before(c.own) {
		c.log.Warn("there is no certificate for the metrics, so one is made: a client that verifies refuses it", "file", c.certFile)
		if err := c.make(now); err != nil {
			return err
		}
	}
	c.next = now.Add(readEvery)
	return nil
}

// selfSigned returns a new certificate that is valid from now.
func selfSigned(now time.Time) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making a key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("making a certificate: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "coordinator"},
		DNSNames:  []string{"coordinator.kubectl-upgrade.svc", "coordinator"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(validFor),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("making a certificate: %w", err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
