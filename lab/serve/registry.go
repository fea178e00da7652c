package serve

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/renameio/v2"
)

// diskRegistry is an OCI registry that keeps what was pushed. The library's
// keeps layers on disk but manifests in memory, so this one writes each
// manifest down before it is accepted, and pushes all of them again when it
// is opened.
type diskRegistry struct {
	inner     http.Handler
	manifests string // folder of savedManifest files
}

// savedManifest is a PUT of a manifest as it came.
type savedManifest struct {
	Path        string
	ContentType string
	Body        []byte
}

func newRegistry(stateDir string) (*diskRegistry, error) {
	dir := filepath.Join(stateDir, "registry")
	blobs := filepath.Join(dir, "blobs")
	r := &diskRegistry{manifests: filepath.Join(dir, "manifests")}
	for _, folder := range []string{blobs, r.manifests} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return nil, err
		}
	}
	silent := log.New(io.Discard, "", 0)
	r.inner = registry.New(registry.Logger(silent), registry.WithBlobHandler(registry.NewDiskBlobHandler(blobs)))
	return r, r.replay()
}

func (r *diskRegistry) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if request.Method == http.MethodPut && strings.Contains(request.URL.Path, "/manifests/") {
		if err := r.save(request); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	r.inner.ServeHTTP(w, request)
}

// save leaves the request's body readable once more.
func (r *diskRegistry) save(request *http.Request) error {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return err
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	record, err := json.Marshal(savedManifest{Path: request.URL.Path, ContentType: request.Header.Get("Content-Type"), Body: body})
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%x.json", sha256.Sum256([]byte(request.URL.Path)))
	return renameio.WriteFile(filepath.Join(r.manifests, name), record, 0o644)
}

func (r *diskRegistry) replay() error {
	files, err := filepath.Glob(filepath.Join(r.manifests, "*.json"))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var saved savedManifest
		if err := json.Unmarshal(text, &saved); err != nil {
			return fmt.Errorf("reading %s: %w", file, err)
		}
		if err := r.put(saved); err != nil {
			return err
		}
	}
	return nil
}

func (r *diskRegistry) put(saved savedManifest) error {
	request, err := http.NewRequestWithContext(context.Background(), http.MethodPut, saved.Path, bytes.NewReader(saved.Body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", saved.ContentType)
	answer := &unsent{header: http.Header{}}
	r.inner.ServeHTTP(answer, request)
	if answer.status != http.StatusCreated {
		return fmt.Errorf("restoring %s: status %d", saved.Path, answer.status)
	}
	return nil
}

// unsent is an answer without a receiver.
type unsent struct {
	header http.Header
	status int
}

func (u *unsent) Header() http.Header         { return u.header }
func (u *unsent) Write(p []byte) (int, error) { return len(p), nil }
func (u *unsent) WriteHeader(status int)      { u.status = status }
