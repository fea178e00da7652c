package kubeadm

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

const logsKept = 4

// openLog creates a new kubeadm.log, and renames the former ones to kubeadm.log.1 and so
// on.
func openLog(dir string) (*os.File, error) {
	path := filepath.Join(dir, host.KubeadmLog)
	for i := logsKept - 1; i > 0; i-- {
		from := path
		if i > 1 {
			from += "." + strconv.Itoa(i-1)
		}
		if err := os.Rename(from, path+"."+strconv.Itoa(i)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("keeping kubeadm's former log: %w", err)
		}
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening kubeadm's log: %w", err)
	}
	return file, nil
}

// both writes to the file and to the verb's log. If the file cannot be written, it goes on
// with the log alone, so that a full disk does not stop kubeadm.
type both struct {
	file io.Writer
	log  *host.Log
}

func (b *both) Write(p []byte) (int, error) {
	if b.file != nil {
		if _, err := b.file.Write(p); err != nil {
			b.file = nil
			b.log.Printf("%v: the rest is not in the file", err)
		}
	}
	return b.log.Write(p)
}
