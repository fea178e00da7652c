package renewal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// saved is a file in the copy.
type saved struct {
	Path string `json:"path"`
	// Written is when the file was written: whether a program has it is judged by that.
	Written time.Time `json:"written"`
	// Content of the file.
	Content []byte `json:"content"`
}

// copyFile has the copy. It is one file, so that there is a whole copy or none.
func copyFile(l host.Layout) string { return l.At(host.CertificatesCopy) }

// filesOf returns the files of a certificate: a kubeconfig has the key inside.
func filesOf(c v1alpha1.CertificateFacts) []string {
	if name, is := strings.CutSuffix(c.Path, ".crt"); is {
		return []string{c.Path, name + ".key"}
	}
	return []string{c.Path}
}

// save copies the files of the certificates.
func save(l host.Layout, certificates []v1alpha1.CertificateFacts) error {
	var files []saved
	for _, c := range certificates {
		for _, path := range filesOf(c) {
			info, err := os.Stat(l.At(path))
			if err != nil {
				return fmt.Errorf("copying the certificates: %w", err)
			}
			content, err := os.ReadFile(l.At(path))
			if err != nil {
				return fmt.Errorf("copying the certificates: %w", err)
			}
			files = append(files, saved{Path: path, Written: info.ModTime(), Content: content})
		}
	}
	text, err := json.Marshal(files)
	if err != nil {
		return err
	}
	if err := host.WriteFile(copyFile(l), text, 0o600); err != nil {
		return fmt.Errorf("copying the certificates: %w", err)
	}
	return nil
}

// PutBack puts back the files that a renewal which did not end has left changed, and removes their copy. It does nothing if
// there is none.
func PutBack(l host.Layout, log *host.Log) error {
	text, err := os.ReadFile(copyFile(l))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the copy of the certificates: %w", err)
	}
	var files []saved
	if err := json.Unmarshal(text, &files); err != nil {
		return fmt.Errorf("decoding %s: %w", host.CertificatesCopy, err)
	}
	for _, f := range files {
		if now, err := os.ReadFile(l.At(f.Path)); err == nil && string(now) == string(f.Content) {
			continue
		}
		if err := host.ReplaceContent(l.At(f.Path), f.Content); err != nil {
			return fmt.Errorf("putting back %s: %w", f.Path, err)
		}
		if err := os.Chtimes(l.At(f.Path), f.Written, f.Written); err != nil {
			return fmt.Errorf("putting back when %s was written: %w", f.Path, err)
		}
		log.Printf("put back %s", f.Path)
	}
	return end(l)
}

// end removes the copy, and then the guard's unit, which would put it back after a power cut: an agent may need an API server
// that starts with certificates that fit each other.
func end(l host.Layout) error { return errors.Join(removeCopy(l), l.DisableUnarmedGuard()) }

func removeCopy(l host.Layout) error {
	if err := os.Remove(copyFile(l)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing the copy of the former certificates: %w", err)
	}
	return host.SyncDir(filepath.Dir(copyFile(l)))
}
