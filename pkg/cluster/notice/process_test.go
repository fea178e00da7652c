package notice_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nicholas-fedor/shoutrrr/pkg/router"
	"github.com/nicholas-fedor/shoutrrr/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/notice"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/notice/wire"
)

// program is the program that sends one notice, as in the image: with cgo it needs more memory than
// its limit.
var program []string

func TestMain(m *testing.M) { os.Exit(withProgram(m)) }

func withProgram(m *testing.M) int {
	dir, err := os.MkdirTemp("", "send-notice")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary folder that stays harms nothing
	program = []string{filepath.Join(dir, "send-notice")}
	build := exec.Command("go", "build", "-buildvcs=false", "-o", program[0], "../../../cmd/send-notice")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		panic(fmt.Sprintf("%v\n%s", err, out))
	}
	return m.Run()
}

func orderTo(url string) wire.Message {
	return wire.Message{URL: url, Data: wire.Data{ID: "0a", Event: "Stalled", Upgrade: "v1-34-4", Text: "the text"}}
}

// TestSend sends to a real receiver on loopback, in the ways of some services.
func TestSend(t *testing.T) {
	var got string
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = r.Method + " " + r.URL.Path + " " + string(body)
		_, _ = w.Write([]byte("{}"))
	}))
	defer receiver.Close()
	host := strings.TrimPrefix(receiver.URL, "http://")
	for url, want := range map[string]string{
		"generic+http://" + host + "/hook":                         "POST /hook the text",
		"generic://" + host + "/hook?disabletls=yes&template=json": `POST /hook {"message":"the text"}`,
		"ntfy://" + host + "/topic?scheme=http":                    "POST /topic the text",
		"gotify://" + host + "/AbcdefghijklmnO?disabletls=yes":     `"message": "the text"`,
		"mattermost://" + host + "/token?disabletls=yes":           `"text":"the text"`,
	} {
		got = ""
		if answer := notice.RunProgram(t.Context(), program, orderTo(url)); answer.Problem != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %+v, received %q, want %q", url, answer, got, want)
		}
	}
	got = ""
	check := wire.Message{URL: "generic+http://" + host + "/hook", CheckOnly: true} // there is no event
	if answer := notice.RunProgram(t.Context(), program, check); answer.Problem != "" || got != "" {
		t.Errorf("a check: %+v, received %q", answer, got)
	}
}

// TestRedirects checks that no service follows a redirect: its address is a secret, which the header
// Referer would tell.
func TestRedirects(t *testing.T) {
	var mutex sync.Mutex
	var told []string
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mutex.Lock()
		defer mutex.Unlock()
		told = append(told, r.Header.Get("Referer"))
	}))
	defer elsewhere.Close()
	code := http.StatusFound
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL, code)
	}))
	defer receiver.Close()
	host := strings.TrimPrefix(receiver.URL, "http://")
	for _, code = range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		for _, url := range []string{
			"generic+http://" + host + "/TOPSECRET",
			"ntfy://" + host + "/TOPSECRET?scheme=http",
			"gotify://" + host + "/AbcdefghijklmnO?disabletls=yes",
			"mattermost://" + host + "/TOPSECRET?disabletls=yes",
			"matrix://:TOPSECRET@" + host + "?disableTLS=yes&rooms=!a:b",
			"signal://" + host + "/+12345678901/+12345678902?disabletls=yes",
			"bark://:TOPSECRET@" + host + "?scheme=http",
		} {
			answer := notice.RunProgram(t.Context(), program, orderTo(url))
			if want := fmt.Sprintf("the service answered %d", code); !strings.HasPrefix(notice.Text(answer), want) {
				t.Errorf("%s: %s, want %q", url, notice.Text(answer), want)
			}
		}
	}
	if len(told) > 0 {
		t.Errorf("a redirect was followed: %q", told)
	}
}

// TestTransports checks which services of the library have transports of their own, which package send
// observes one by one.
func TestTransports(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/nicholas-fedor/shoutrrr").Output()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	err = filepath.WalkDir(filepath.Join(strings.TrimSpace(string(dir)), "pkg"), func(path string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if bytes.Contains(text, []byte("http.Transport{")) || bytes.Contains(text, []byte("CheckRedirect")) {
			found[filepath.Base(filepath.Dir(path))] = true
		}
		return err
	})
	if want := []string{"gotify", "mattermost", "ntfy"}; err != nil || !slices.Equal(slices.Sorted(maps.Keys(found)), want) {
		t.Errorf("got %v, %v, want %v: have package send observe them", found, err, want)
	}
}

// TestProblems checks what is said about addresses and templates that do not work.
func TestProblems(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/hangs":
			<-hang
		case "/large":
			w.WriteHeader(http.StatusForbidden)
			for range 1000 {
				if _, err := w.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
		default:
			http.Error(w, "no: "+r.URL.String(), http.StatusNotFound)
		}
	}))
	server.Config.ErrorLog = nil
	server.Start()
	secure := httptest.NewTLSServer(server.Config.Handler)
	t.Cleanup(func() { // once the parallel tests are over
		close(hang)
		server.Close()
		secure.Close()
	})
	host := strings.TrimPrefix(server.URL, "http://")
	grow := `{{$x := .Text}}{{range "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}}{{$x = printf "%s%s" $x $x}}{{end}}{{$x}}`
	for _, test := range []struct{ url, template, want string }{
		{"generic+http://" + host + "/hook?token=TOPSECRET", "", "the service answered 404 (Not Found)"},
		{"generic+http://" + host + "/large?token=TOPSECRET", "", "the service answered 403 (Forbidden)"},
		{"generic+http://" + host + "/hangs?token=TOPSECRET", "", "the address does not answer in time"},
		{"generic+http://127.0.0.1:1/TOPSECRET", "", "the address cannot be reached, or refuses connections"},
		{"generic+" + secure.URL + "/TOPSECRET", "", "the certificate of the address is not trusted"},
		{"nobody://TOPSECRET", "", "the address in its Secret does not begin with the name of a service, such as slack://"},
		{"slack://TOPSECRET", "", "the address in its Secret is not one that this service understands"},
		{"TOPSECRET\x00", "", "the address in its Secret is not one that this service understands"},
		{"generic+http://" + host + "/hook", "{{.Nothing}}", "its template cannot be used: it cannot be filled in: template: template:1:2: executing"},
		{"generic+http://" + host + "/hook", "{{/* nothing */}}", "its template cannot be used: it gives an empty text"},
		{"generic+http://" + host + "/hook", strings.Replace(grow, "range \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"", "range 40", 1), "sending took longer than 30s, or too much memory"},
	} {
		t.Run(test.want, func(t *testing.T) {
			t.Parallel()
			o := orderTo(test.url)
			o.Template = test.template
			answer := notice.RunProgram(t.Context(), program, o)
			if text := notice.Text(answer); !strings.Contains(text, test.want) || strings.Contains(text, "TOPSECRET") {
				t.Errorf("got %+v: %s", answer, text)
			}
		})
	}
}

// addresses are those of services, each with the token TOPSECRET in a form that the service takes.
var addresses = []string{
	"bark://:TOPSECRET@host.invalid",
	"discord://TOPSECRET@123456789",
	"generic://host.invalid/TOPSECRET?token=TOPSECRET",
	"googlechat://chat.googleapis.com/v1/spaces/FOO/messages?key=TOPSECRET&token=TOPSECRET",
	"gotify://host.invalid/ATOPSECRET12345",
	"ifttt://TOPSECRET/?events=event1",
	"join://Token:TOPSECRET@join?devices=dev1",
	"lark://open.larksuite.com/TOPSECRET?secret=TOPSECRET",
	"matrix://:TOPSECRET@host.invalid",
	"matrix://user:TOPSECRET@host.invalid",
	"mattermost://host.invalid/TOPSECRET",
	"notifiarr://TOPSECRET?channel=123456789",
	"ntfy://:TOPSECRET@host.invalid/TOPSECRET",
	"opsgenie://api.opsgenie.com/TOPSECRET",
	"pagerduty://events.pagerduty.com/TOPSECRETTOPSECRETTOPSECRET12345",
	"pushbullet://TOPSECRETTOPSECRETTOPSECRET1234567",
	"pushover://:TOPSECRET@TOPSECRET",
	"rocketchat://host.invalid/TOPSECRET/TOPSECRET/channel",
	"signal://user:TOPSECRET@host.invalid/+1234567890/+0987654321",
	"slack://hook:TOPSECRET0-TOPSECRET0-TOPSECRETTOPSECRET123456@webhook",
	"slack://xoxb:TOPSECRET123-TOPSECRET123-TOPSECRETTOPSECRET123456@channel",
	"smtp://user:TOPSECRET@host.invalid:587/?fromAddress=a@example.com&toAddresses=b@example.com",
	"teams://11111111-4444-4444-8444-cccccccccccc@22222222-4444-4444-8444-cccccccccccc/TOPSECRET222222222333333333333344/44444444-4444-4444-8444-cccccccccccc/V2ESyij_gAljSoUQHvZoZYzlpAoAXExyOl26dlf1xHEx05?host=host.webhook.office.com",
	"telegram://123456789:TOPSECRETTOPSECRETTOPSECRET12345678@telegram/?chats=channel-1",
	"wecom://TOPSECRET",
	"zulip://bot%40example.invalid:TOPSECRETTOPSECRETTOPSECRET12345@host.invalid?stream=foo",
}

// TestNoSecretLeaves sends to each service, whose hosts do not exist or are behind a proxy that refuses,
// and looks for the token in all that the process writes to its answer. Errors of the library have it.
func TestNoSecretLeaves(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "no way to "+r.Host, http.StatusBadGateway)
	}))
	defer proxy.Close()
	t.Setenv("HTTPS_PROXY", proxy.URL)
	t.Setenv("HTTP_PROXY", proxy.URL)
	for _, address := range addresses {
		answer := notice.RunProgram(t.Context(), program, orderTo(address))
		name, _, _ := strings.Cut(address, ":")
		if answer.Problem == "" || answer.Problem == wire.ProblemService || answer.Problem == wire.ProblemEnded {
			t.Errorf("%s: got %+v, want that it cannot be sent", name, answer)
		}
		if answer.Problem == wire.ProblemAddress {
			t.Logf("%s: the address is refused", name)
		}
		written, err := json.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(written)+notice.Text(answer), "TOPSECRET") {
			t.Errorf("%s: the token is in %s", name, written)
		}
	}
	var covered []string
	for _, address := range addresses {
		name, _, _ := strings.Cut(address, ":")
		covered = append(covered, name)
	}
	for _, name := range (&router.ServiceRouter{}).ListServices() {
		if !slices.Contains(covered, name) && name != "logger" && name != "hangouts" { // hangouts is googlechat
			t.Errorf("the service %s has no address here", name)
		}
	}
	service, err := (&router.ServiceRouter{}).Locate("generic+http://127.0.0.1:1/TOPSECRET")
	if err != nil {
		t.Fatal(err)
	}
	if err := service.Send("text", &types.Params{}); err == nil || !strings.Contains(err.Error(), "TOPSECRET") {
		t.Errorf("the library's error is %v: it has no token, so this test shows nothing", err)
	}
}

// TestProgramIsMissing checks what is said where the coordinator runs without the program.
func TestProgramIsMissing(t *testing.T) {
	answer := notice.RunProgram(t.Context(), []string{filepath.Join(t.TempDir(), "send-notice")}, orderTo("generic://host.invalid"))
	if text := notice.Text(answer); !strings.Contains(text, "send-notice") {
		t.Errorf("got %+v: %s", answer, text)
	}
}

// TestVersion checks that the program tells its version, as all in the image do.
func TestVersion(t *testing.T) {
	if out, err := exec.CommandContext(t.Context(), program[0], "--version").Output(); err != nil || string(out) != "send-notice version unknown\n" {
		t.Errorf("got %q, %v", out, err)
	}
}

// TestPanicSaysNothing checks that a message that cannot be read ends the process without words.
func TestPanicSaysNothing(t *testing.T) {
	command := exec.CommandContext(t.Context(), program[0])
	command.Stdin = strings.NewReader("TOPSECRET")
	var out bytes.Buffer
	command.Stdout = &out
	began := time.Now()
	if err := command.Run(); err == nil || out.Len() > 0 || time.Since(began) > wire.Timeout {
		t.Errorf("got %v, %q", err, out.String())
	}
}
