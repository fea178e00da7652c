package send

import (
	"errors"
	"fmt"
	"strings"
	"text/template"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/notice/wire"
)

// maxText is the maximum length of what is sent, in bytes.
const maxText = 4096

func parsed(text string) (*template.Template, error) {
	if text == "" {
		text = "{{.Text}}"
	}
	t, err := template.New("template").Option("missingkey=error").Parse(text)
	if err != nil {
		return nil, fmt.Errorf("it does not parse: %w", err)
	}
	return t, nil
}

// Render returns the text of a notice, cut to its maximum length.
func Render(text string, d wire.Data) (string, error) {
	t, err := parsed(text)
	if err != nil {
		return "", err
	}
	var out limited
	if err := t.Execute(&out, d); err != nil && !errors.Is(err, errFull) {
		return "", fmt.Errorf("it cannot be filled in: %w", err)
	}
	return strings.ToValidUTF8(out.String(), ""), nil
}

var errFull = errors.New("the text is longer than is sent")

// limited is a buffer for maxText bytes.
type limited struct{ strings.Builder }

func (l *limited) Write(data []byte) (int, error) {
	if room := maxText - l.Len(); len(data) > room {
		_, _ = l.Builder.Write(data[:room]) // a Builder returns no error
		return room, errFull
	}
	return l.Builder.Write(data)
}
