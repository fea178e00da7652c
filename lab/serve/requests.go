package serve

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Request is one request that the image server answered.
type Request struct {
	Time   time.Time `json:"time"`
	Client string    `json:"client"` // address without port
	Method string    `json:"method"`
	Path   string    `json:"path"`
	Status int       `json:"status"`
}

func requestFile(stateDir string) string { return filepath.Join(stateDir, "images.log") }

// Requests are all that the image server answered, oldest first.
func Requests(stateDir string) ([]Request, error) {
	f, err := os.Open(requestFile(stateDir))
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the image server's log: %w", err)
	}
	defer f.Close()
	var requests []Request
	for lines := json.NewDecoder(f); ; {
		var one Request
		err := lines.Decode(&one)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) { // a line that is just being written
			return requests, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading the image server's log: %w", err)
		}
		requests = append(requests, one)
	}
}

// requestLog writes a line of JSON for each request.
type requestLog struct {
	mu   sync.Mutex
	file *os.File
}

func openRequestLog(stateDir string) (*requestLog, error) {
	if err := os.MkdirAll(stateDir, 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(requestFile(stateDir), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	return &requestLog{file: f}, err
}

func (l *requestLog) add(r *http.Request, status int) {
	client, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		client = r.RemoteAddr
	}
	line, err := json.Marshal(Request{Time: time.Now().UTC(), Client: client, Method: r.Method, Path: r.URL.Path, Status: status})
	if err != nil {
		return // five plain fields always marshal
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = l.file.Write(append(line, '\n'))
}

func (l *requestLog) close() { l.file.Close() }

func hashText(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }
