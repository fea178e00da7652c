package cli

import (
	"io"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
)

// safe is an io.Writer for everything that people see. A node's log, an object's message
// or an index of images may hold control characters, which a terminal would obey. They
// are written as JSON does, \u001b, so that JSON stays JSON.
type safe struct {
	out io.Writer
	// colors keeps the colors of package render, which removes all others.
	colors bool
}

// Write is part of io.Writer.
func (s safe) Write(p []byte) (int, error) {
	if _, err := io.WriteString(s.out, render.Sanitize(string(p), s.colors)); err != nil {
		return 0, err
	}
	return len(p), nil
}
