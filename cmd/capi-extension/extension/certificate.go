package extension

import (
	"crypto/tls"
	"fmt"
	"os"
	"sync"
	"time"
)

// reloadAfter is how long a certificate is used before its files are looked at again.
const reloadAfter = 10 * time.Second

// certificate is a certificate in two files, which may be replaced at any time, as cert-manager and the
// kubelet do.
type certificate struct {
	certFile, keyFile string
	now               func() time.Time

	mutex   sync.Mutex
	current *tls.Certificate
	read    time.Time
	changed [2]time.Time
}

// get implements tls.Config.GetCertificate. A certificate that cannot be read does not replace one that
// is in use.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.current != nil && c.now().Sub(c.read) < reloadAfter {
		return c.current, nil
	}
	c.read = c.now()
	if err := c.load(); err != nil && c.current == nil {
		return nil, err
	}
	return c.current, nil
}

func (c *certificate) load() error {
	var changed [2]time.Time
	for i, file := range []string{c.certFile, c.keyFile} {
		info, err := os.Stat(file)
		if err != nil {
			return fmt.Errorf("reading the certificate: %w", err)
		}
		changed[i] = info.ModTime()
	}
	if c.current != nil && changed == c.changed {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return fmt.Errorf("reading the certificate %s with its key %s: %w", c.certFile, c.keyFile, err)
	}
	c.current, c.changed = &pair, changed
	return nil
}
