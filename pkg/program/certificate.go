package program

import (
	"crypto/tls"
	"fmt"
	"os"
	"sync"
	"time"
)

// reloadAfter is how long a certificate is used before its files are looked at again.
const reloadAfter = 10 * time.Second

// Certificate is a certificate in two files, which may be replaced at any time, as cert-manager and the
// kubelet do.
type Certificate struct {
	CertFile, KeyFile string

	mutex   sync.Mutex
	current *tls.Certificate
	problem error // of the last look at the files
	looked  time.Time
	changed [2]time.Time // when the files were changed, as they were read
}

// Get returns the newest certificate that could be read, and why the files cannot be read now, if they cannot.
// It may return both: a certificate that cannot be read does not replace one that is in use.
func (c *Certificate) Get(now time.Time) (*tls.Certificate, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if age := now.Sub(c.looked); c.current == nil || age < 0 || age >= reloadAfter {
		c.looked, c.problem = now, c.load()
	}
	return c.current, c.problem
}

func (c *Certificate) load() error {
	var changed [2]time.Time
	for i, file := range []string{c.CertFile, c.KeyFile} {
		info, err := os.Stat(file)
		if err != nil {
			return fmt.Errorf("reading the certificate: %w", err)
		}
		changed[i] = info.ModTime()
	}
	if c.current != nil && changed == c.changed {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
	if err != nil {
		return fmt.Errorf("reading the certificate %s with its key %s: %w", c.CertFile, c.KeyFile, err)
	}
	c.current, c.changed = &pair, changed
	return nil
}
