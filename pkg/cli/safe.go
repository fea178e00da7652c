package cli

import (
	"io"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/render"
)

// safe is what all that people see goes through. A node's log, an object's message or
// an index of images may hold control characters; a terminal would obey them. They
// are shown as they stand in JSON instead, \u001b, so that JSON stays JSON.
type safe struct {
	out io.Writer
	// colors lets render's colors through. render takes those of others away.
	colors bool
}

// Write is part of io.Writer.
func (s safe) Write(p []byte) (int, error) {
	if _, err := io.WriteString(s.out, render.Sanitize(string(p), s.colors)); err != nil {
		return 0, err
	}
	return len(p), nil
}
