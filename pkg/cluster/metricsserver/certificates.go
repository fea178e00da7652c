package metricsserver

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
	"sync"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/program"
)

// validFor is how long a certificate of our own is valid. It is replaced after half of that.
const validFor = 90 * 24 * time.Hour

// certificates has the server's certificate: that of its files, or one of our own where no files are named, and
// until they are there.
type certificates struct {
	files *program.Certificate // nil: none are named
	log   *slog.Logger
	now   func() time.Time

	mutex  sync.Mutex
	own    *tls.Certificate
	renews time.Time // when own is replaced
	told   string    // the problem with the files that the log has
}

// newCertificates refuses files that are there and cannot be used.
func newCertificates(certFile, keyFile string, log *slog.Logger) (*certificates, error) {
	c := &certificates{log: log, now: time.Now}
	if certFile != "" {
		c.files = &program.Certificate{CertFile: certFile, KeyFile: keyFile}
		if _, err := c.files.Get(c.now()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	_, err := c.get(nil)
	return c, err
}

// get implements tls.Config.GetCertificate.
func (c *certificates) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.files == nil {
		return c.ours(c.now())
	}
	current, err := c.files.Get(c.now())
	c.tell(current, err)
	if current == nil {
		return c.ours(c.now())
	}
	return current, nil
}

// tell logs a problem with the files once.
func (c *certificates) tell(current *tls.Certificate, err error) {
	problem := ""
	if err != nil {
		problem = err.Error()
	}
	if problem != c.told && err != nil {
		what := "keeping the former certificate of the metrics"
		if current == nil {
			what = "the metrics have a certificate of their own until the files can be read: a client that verifies refuses it"
		}
		c.log.Warn(what, "error", err)
	}
	c.told = problem
}

// ours returns a certificate of our own.
func (c *certificates) ours(now time.Time) (*tls.Certificate, error) {
	if c.own == nil || !now.Before(c.renews) {
		made, err := selfSigned(now)
		if err != nil {
			return nil, err
		}
		c.own, c.renews = made, now.Add(validFor/2)
	}
	return c.own, nil
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
