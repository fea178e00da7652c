package silence

import (
	"net/http"
	"sync"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/test/hostile"
)

// TestHostileAlertmanager checks how much memory 4 MiB of small silences take, for as many Alertmanagers
// as a policy may have.
func TestHostileAlertmanager(t *testing.T) {
	for what, answer := range map[string]func() []byte{
		"empty silences": hostile.Answer(`[`, `{},`, `{}]`),
		"ours":           hostile.Answer(`[`, `{"id":"1","createdBy":"kubectl-upgrade"},`, `{}]`),
		"matchers":       hostile.Answer(`[{"matchers":[`, `{},`, `{}]}]`),
	} {
		t.Run(what, func(t *testing.T) {
			peak := hostile.Peak(t, func() string {
				text := answer()
				return hostile.Server(t, false, func(string) []byte { return text }).URL
			}, func(address string) {
				var group sync.WaitGroup
				for range 8 {
					group.Go(func() {
						_ = (alertmanager{&http.Client{}, address}).list(t.Context(), func(posted) {}) // its memory counts
					})
				}
				group.Wait()
			})
			if t.Logf("%d MiB", peak); peak > 60 {
				t.Errorf("it takes %d MiB, want at most 60", peak)
			}
		})
	}
}
