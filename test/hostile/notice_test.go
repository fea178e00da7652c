package hostile_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/notice/send"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/notice/wire"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/hostile"
)

// services are addresses of services at a host, with a client of their own or the common one, and with answers that
// they decode or ignore.
var services = []string{
	"generic+http://HOST/hook",
	"ntfy://HOST/topic?scheme=http",
	"gotify://HOST/AbcdefghijklmnO?disabletls=yes",
	"mattermost://HOST/token?disabletls=yes",
	"matrix://:token@HOST?disableTLS=yes&rooms=!a:b",
	"matrix://user:password@HOST?disableTLS=yes",
	"signal://HOST/+12345678901/+12345678902?disabletls=yes",
	"bark://:token@HOST?scheme=http",
}

// TestHostileNotices checks how much memory the program that sends a notice takes for what the service answers. It is
// measured without the limit that it sets itself, which ends it.
func TestHostileNotices(t *testing.T) {
	for what, answer := range map[string]func() []byte{
		"objects": hostile.Answer(`{"rooms":[`, `{},`, `{}]}`), "depth": hostile.Answer(`{"a":`, `[`, ``), "no end": func() []byte { return make([]byte, 64<<20) },
	} {
		for _, code := range []int{http.StatusOK, http.StatusBadRequest} {
			for _, service := range services {
				name, _, _ := strings.Cut(service, "@HOST")
				t.Run(what+" "+http.StatusText(code)+" "+strings.ReplaceAll(name, "/", ""), func(t *testing.T) {
					var asked atomic.Bool
					peak := hostile.Peak(t, func() string {
						text := answer()
						server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
							asked.Store(true)
							w.Header().Set("Content-Type", "application/json")
							w.WriteHeader(code)
							_, _ = w.Write(text) // the client may have enough
						}))
						t.Cleanup(server.Close)
						return strings.TrimPrefix(server.URL, "http://")
					}, func(address string) {
						text, err := json.Marshal(wire.Message{URL: strings.Replace(service, "HOST", address, 1), Data: wire.Data{Text: "the text"}})
						if err == nil {
							err = send.Answer(bytes.NewReader(text), io.Discard)
						}
						if err != nil {
							panic(err)
						}
					})
					if !asked.Load() {
						t.Error("the service is not asked")
					}
					if t.Logf("%d MiB", peak); peak > 30 {
						t.Errorf("it takes %d MiB, want at most 30", peak)
					}
				})
			}
		}
	}
}
