package serve

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// Transfers are the ways in which the download of an image can be broken.
var Transfers = []string{"slow", "cut", "stalled", "endless"}

const (
	// sound is how much of an image is sent before its transfer is cut or stalls.
	sound = 4 << 20
	// slowRate is the bytes that a slow transfer sends in a second.
	slowRate = 2 << 20
)

func transferFile(stateDir string) string { return filepath.Join(stateDir, "images.transfer") }

// SetTransfer breaks the download of images in one of the Transfers; the empty string ends
// that.
func SetTransfer(stateDir, kind string) error {
	change := unset
	if kind != "" {
		change = func(name string) error { return set(name, kind) }
	}
	if err := change(transferFile(stateDir)); err != nil {
		return fmt.Errorf("setting the transfer of images: %w", err)
	}
	return nil
}

// endless reports whether downloads have no end.
func (s *imageServer) endless() bool {
	kind, err := os.ReadFile(transferFile(s.stateDir))
	return err == nil && string(kind) == "endless"
}

// sendEndless sends bytes in chunks, without a length, until the client closes the
// connection.
func sendEndless(w http.ResponseWriter, r *http.Request) {
	chunk := bytes.Repeat([]byte("endless "), 1<<17) // zeros would be written as a hole
	for r.Context().Err() == nil {
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
}

// transfer sends an answer in a broken way.
type transfer struct {
	http.ResponseWriter
	ctx   context.Context
	kind  string
	began time.Time
	sent  int
}

// broken returns w, or a writer that breaks the transfer as it was set.
func (s *imageServer) broken(w http.ResponseWriter, r *http.Request) http.ResponseWriter {
	kind, err := os.ReadFile(transferFile(s.stateDir))
	if err != nil {
		return w
	}
	return &transfer{ResponseWriter: w, ctx: r.Context(), kind: string(kind), began: time.Now()}
}

func (t *transfer) Write(p []byte) (int, error) {
	switch {
	case t.kind == "slow":
		// Until when it is due: on a busy machine every sleep is a little too long.
		time.Sleep(time.Until(t.began.Add(time.Duration(t.sent+len(p)) * time.Second / slowRate)))
	case t.sent < sound:
	case t.kind == "cut":
		panic(http.ErrAbortHandler) // closes the connection
	case t.kind == "stalled":
		<-t.ctx.Done()
		return 0, t.ctx.Err()
	}
	n, err := t.ResponseWriter.Write(p)
	t.sent += n
	return n, err
}
