package artifacts

import (
	"bytes"
	"io"
)

// lineWriter passes lines on to another writer, except those that take returns true for.
type lineWriter struct {
	take func(line string) bool // nil: no line
	to   io.Writer
	rest []byte // the beginning of a line
}

func (w *lineWriter) Write(p []byte) (int, error) {
	if w.take == nil {
		return w.to.Write(p)
	}
	w.rest = append(w.rest, p...)
	for {
		end := bytes.IndexByte(w.rest, '\n') + 1
		if end == 0 {
			return len(p), nil
		}
		if !w.take(string(w.rest[:end-1])) {
			if _, err := w.to.Write(w.rest[:end]); err != nil {
				return 0, err
			}
		}
		w.rest = w.rest[end:]
	}
}

// flush passes on a last line that has no end. Its error is that of a log, and no
// result depends on it.
func (w *lineWriter) flush() {
	_, _ = w.to.Write(w.rest)
	w.rest = nil
}
