package send

import (
	"strings"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/notice/order"
)

func TestRender(t *testing.T) {
	data := order.Data{Event: "Stalled", Upgrade: "v1-34-4", Node: "w1", Text: "the text"}
	for text, want := range map[string]string{
		"":                   "the text",
		"staging: {{.Text}}": "staging: the text",
		`{{if eq .Event "Stalled"}}:fire: {{.Node}}{{end}}`: ":fire: w1",
	} {
		if got, err := Render(text, data); err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"{{.Text":             "it does not parse: template: template:1: unclosed action",
		"{{.Unknown}}":        "can't evaluate field Unknown",
		`{{template "none"}}`: `template "none" not defined`,
	} {
		if _, err := Render(text, data); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
	data.Text = strings.Repeat("ü", maxText)
	if got, err := Render("x{{.Text}}", data); err != nil || len(got) > maxText || !strings.HasSuffix(got, "ü") {
		t.Errorf("a long text: got %d bytes, %v, want at most %d", len(got), err, maxText)
	}
}
