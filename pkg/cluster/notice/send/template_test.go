package send

import (
	"strings"
	"testing"

	"github.com/nicholas-fedor/shoutrrr/pkg/router"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/notice/wire"
)

func TestRender(t *testing.T) {
	data := wire.Data{Event: "Stalled", Upgrade: "v1-34-4", Node: "w1", Text: "the text"}
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

// TestWordsOfOthers checks what is sent of words that mention, link and have markup.
func TestWordsOfOthers(t *testing.T) {
	const words = "<!here> @channel *all* [run](https://evil.example/x) `sudo` & _u_"
	data := wire.Data{
		ID: "0a", Reason: "StageFailed", Message: words, Next: "kubectl upgrade status w1 --log",
		Text: "Upgrade u (v1.34.3 to v1.34.4): node w1 failed, StageFailed: " + words + ". Next: `kubectl upgrade status w1 --log` (id 0a)",
	}
	const apart = "<\u2060!here> @\u2060channel *all* [run]\u2060(https:\u2060//evil.example/x) `sudo` & _u_"
	const markdown = "<\u2060!here\\> @\u2060channel \\*all\\* \\[run\\]\\(https:\u2060//evil.example/x\\) \\`sudo\\` & \\_u\\_"
	const html = "&lt;!here&gt; @\u2060channel *all* [run]\u2060(https:\u2060//evil.example/x) `sudo` &amp; _u_"
	for address, want := range map[string]string{
		"slack://token@channel":                         html,
		"teams://group@tenant":                          markdown,
		"discord://token@id":                            markdown,
		"mattermost://host/token":                       markdown,
		"matrix://u:p@host":                             apart,
		"googlechat://chat.googleapis.com/x":            apart,
		"telegram://t@telegram?chats=@c":                apart,
		"telegram://t@telegram?chats=@c&parseMode=HTML": html,
		"telegram://t@telegram?chats=@c&title=x":        html,
		"smtp://host/?useHTML=yes":                      html,
		"smtp://host/":                                  words,
		"ntfy://host/topic":                             words,
		"generic+https://host/":                         words,
	} {
		d := escaped(data, escapeFor(address))
		if d.Message != want {
			t.Errorf("%s:\ngot  %q\nwant %q", address, d.Message, want)
		}
		if !strings.Contains(d.Text, want+". Next: `kubectl upgrade status w1 --log` (id 0a)") {
			t.Errorf("%s: the text is %q", address, d.Text)
		}
		if got, err := Render("*{{.Message}}*", d); err != nil || got != "*"+want+"*" {
			t.Errorf("%s: a template's own markup: got %q, %v", address, got, err)
		}
	}
}

// TestEscapesOfAllServices checks that the escapes of each service of the library are known.
func TestEscapesOfAllServices(t *testing.T) {
	for _, name := range (&router.ServiceRouter{}).ListServices() {
		if _, known := escapes[name]; !known {
			t.Errorf("the library has the service %s: add its escapes", name)
		}
	}
}
