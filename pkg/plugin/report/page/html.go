package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/report"
)

// Options are how a report is drawn.
type Options struct {
	// Zone is the zone in which times are shown.
	Zone *time.Location
	// Version is that of the program that writes the page.
	Version string
}

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

// page is parsed once. Control characters and those that change the direction of text are
// shown as escapes, as everywhere in kubectl-upgrade.
var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"clean": func(text string) string { return render.Sanitize(text, false) },
}).Parse(pageHTML))

// HTML returns the page.
func HTML(r *report.Report, o Options) ([]byte, error) {
	var b bytes.Buffer
	err := page.Execute(&b, newDocument(r, o))
	return b.Bytes(), err
}

// styleSheet returns the style sheet, and the policy that allows it and nothing else.
func styleSheet() (css template.CSS, policy string) {
	sum := sha256.Sum256([]byte(pageCSS))
	return template.CSS(pageCSS), //nolint:gosec // a file of this package
		"default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; img-src data:; base-uri 'none'; form-action 'none'"
}
