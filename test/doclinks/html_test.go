package doclinks

import (
	"regexp"
	"testing"
)

var (
	// code and comments may have what looks like HTML
	code = regexp.MustCompile("(?ms)^ *```.*?^ *```$|`[^`\n]*`|<!--.*?-->")
	html = regexp.MustCompile(`</?[A-Za-z][^>\n]*>`)
)

// TestPagesHaveNoHTML checks that no page has HTML, or a placeholder without backquotes, which
// GitHub and the website leave out.
func TestPagesHaveNoHTML(t *testing.T) {
	for _, page := range pages(t) {
		for _, tag := range html.FindAllString(code.ReplaceAllString(read(t, page), ""), -1) {
			t.Errorf("%s has %s: write it in backquotes", page, tag)
		}
	}
}
