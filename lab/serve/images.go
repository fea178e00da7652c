package serve

import (
	"fmt"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// imageServer answers for SHA256SUMS and for the images that it lists.
type imageServer struct {
	stateDir string
	log      *requestLog
}

func newImageServer(stateDir string) (*imageServer, error) {
	log, err := openRequestLog(stateDir)
	if err != nil {
		return nil, err
	}
	return &imageServer{stateDir: stateDir, log: log}, nil
}

func (s *imageServer) close() { s.log.close() }

func (s *imageServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	recorder := &statusRecorder{ResponseWriter: w, status: http.StatusOK}
	s.answer(recorder, r)
	s.log.add(r, recorder.status)
}

func (s *imageServer) answer(w http.ResponseWriter, r *http.Request) {
	if _, err := os.Stat(downFile(s.stateDir)); err == nil {
		http.Error(w, "the lab took the image server down", http.StatusServiceUnavailable)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
		return
	}
	name := strings.TrimPrefix(path.Clean(r.URL.Path), "/")
	if name == "SHA256SUMS" {
		s.answerIndex(w, r)
		return
	}
	s.answerImage(w, r, name)
}

func (s *imageServer) answerIndex(w http.ResponseWriter, r *http.Request) {
	text, err := s.index()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("ETag", fmt.Sprintf("%q", hashText(text)))
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(text))
}

func (s *imageServer) index() (string, error) {
	raw, err := os.ReadFile(indexFile(s.stateDir))
	if err == nil {
		return string(raw), nil
	}
	if !os.IsNotExist(err) {
		return "", err
	}
	offers, err := Offers(s.stateDir)
	return formatIndex(offers), err
}

// answerImage looks the name up among the offers, so that no other file of
// this machine can be asked for.
func (s *imageServer) answerImage(w http.ResponseWriter, r *http.Request, name string) {
	offers, err := Offers(s.stateDir)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	for _, offer := range offers {
		if offer.File == name {
			serveFile(s.broken(w, r), r, filepath.Join(offersDir(s.stateDir), name))
			return
		}
	}
	http.NotFound(w, r)
}

func serveFile(w http.ResponseWriter, r *http.Request, name string) {
	f, err := os.Open(name)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("ETag", fmt.Sprintf(`"%x-%x"`, info.ModTime().UnixNano(), info.Size()))
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, r, "", info.ModTime(), f)
}

// statusRecorder records the status of the answer.
type statusRecorder struct {
	http.ResponseWriter
	status int
}

func (r *statusRecorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}
