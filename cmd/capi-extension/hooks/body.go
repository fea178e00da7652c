package hooks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Anybody who reaches the port may send a request. What all of them together hold in memory is bounded: a
// small body for each connection, and a few that are larger or are decoded.
const (
	// maxRequest is the size of the largest request that is read. Two sets of objects without their status
	// and managed fields are far smaller.
	maxRequest = 4 << 20
	// smallRequest is the size up to which bodies are read side by side, so that a client which sends
	// slowly keeps no other from being answered.
	smallRequest = 128 << 10
	// maxLarge is how many larger ones are read and answered at a time, and maxDecoded how many of all are
	// decoded.
	maxLarge, maxDecoded = 4, 2
	// largeTimeout is how long a client may take to send the rest of a larger one.
	largeTimeout = 3 * time.Second
	// maxValues and maxDepth bound what a request has when it is decoded: an empty object takes two bytes
	// of text and a hundred of memory.
	maxValues = 50_000
	maxDepth  = 64
)

// bodies reads the bodies of requests.
type bodies struct{ large, decoded chan struct{} }

func newBodies() bodies {
	return bodies{make(chan struct{}, maxLarge), make(chan struct{}, maxDecoded)}
}

// errBusy means that too many requests are read at once. Cluster API asks again.
var errBusy = errors.New("too many requests are read at once")

// read reads a body, and has decode keep what is needed of it. release is called once that is not needed any more.
func (b bodies) read(ctx context.Context, w http.ResponseWriter, r *http.Request, decode func([]byte) error) (release func(), err error) {
	release = func() {}
	if r.ContentLength > maxRequest {
		w.Header().Set("Connection", "close")
		return release, tooLarge()
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, smallRequest))
	if err != nil {
		return release, err
	}
	if len(body) == smallRequest {
		if err := acquire(ctx, b.large); err != nil {
			return release, err
		}
		release = func() { <-b.large }
		if body, err = readRest(w, r, body); err != nil {
			return release, err
		}
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return release, io.ErrUnexpectedEOF
	}
	if err := checkSize(body); err != nil {
		return release, err
	}
	if err := acquire(ctx, b.decoded); err != nil {
		return release, err
	}
	defer func() { <-b.decoded }()
	return release, decode(body)
}

// readRest reads what follows the beginning of a body.
func readRest(w http.ResponseWriter, r *http.Request, beginning []byte) ([]byte, error) {
	size := int64(maxRequest)
	if r.ContentLength > 0 {
		size = r.ContentLength
	}
	// A connection whose time cannot be limited has the server's own limit.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(largeTimeout))
	body := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	body.Write(beginning)
	if _, err := body.ReadFrom(http.MaxBytesReader(w, r.Body, maxRequest-int64(len(beginning)))); err != nil {
		if tooMany := new(http.MaxBytesError); errors.As(err, &tooMany) {
			return nil, tooLarge()
		}
		return nil, err
	}
	return body.Bytes(), nil
}

func tooLarge() error { return fmt.Errorf("it is larger than %d MiB", maxRequest>>20) }

func acquire(ctx context.Context, slots chan struct{}) error {
	select {
	case slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return errBusy
	}
}

// checkSize refuses JSON that would take far more memory than its text does. Whether it is JSON at all is
// found out when it is decoded.
func checkSize(text []byte) error {
	values, depth, inString, escaped := 0, 0, false, false
	for _, c := range text {
		switch {
		case escaped:
			escaped = false
		case inString:
			escaped, inString = c == '\\', c != '"'
		case c == '"':
			inString = true
		case c == '{' || c == '[':
			depth++
			values++
		case c == '}' || c == ']':
			depth--
		case c == ',':
			values++
		}
		if values > maxValues || depth > maxDepth {
			return fmt.Errorf("it has more than %d values, or more than %d of them in one another", maxValues, maxDepth)
		}
	}
	return nil
}
