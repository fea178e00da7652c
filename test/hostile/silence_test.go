package hostile_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/silence"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/hostile"
)

// mostSilences is how many Alertmanagers a policy may have, which are asked at the same time.
const mostSilences = 8

// TestHostileAlertmanager checks how much memory 4 MiB of small silences take.
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
			}, askAlertmanagers)
			if t.Logf("%d MiB", peak); peak > 60 {
				t.Errorf("it takes %d MiB, want at most 60", peak)
			}
		})
	}
}

// askAlertmanagers runs a Keeper until each Alertmanager has answered, or was called malformed.
func askAlertmanagers(address string) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	news := make(chan struct{}, 2*mostSilences)
	client := func(context.Context, v1alpha1.Silence) (*http.Client, error) { return &http.Client{}, nil }
	keeper := silence.NewKeeper(client, slog.New(slog.DiscardHandler), func() { news <- struct{}{} })
	silences := make([]v1alpha1.Silence, mostSilences)
	for i := range silences {
		silences[i] = v1alpha1.Silence{Name: fmt.Sprint("s", i), URL: address}
	}
	keeper.Update(silences, nil, nil)
	go keeper.Run(ctx)
	for {
		if _, all := keeper.Troubles(); all || len(news) >= mostSilences {
			return
		}
		time.Sleep(time.Millisecond)
	}
}
