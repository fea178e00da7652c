package coordinator_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/coordinator"
)

func TestParseConfig(t *testing.T) {
	c, err := coordinator.ParseConfig([]byte("source: {url: http://x/, interval: 30s}\nstrategy: {maxUnavailable: 10%, drain: {timeout: 5m}}\n"))
	if err != nil || c.Source.URL != "http://x/" || c.Source.Interval.Duration != 30*time.Second || c.Strategy.MaxUnavailable.String() != "10%" {
		t.Errorf("got %+v, %v", c, err)
	}
	c, err = coordinator.ParseConfig([]byte("strategy: {method: Restart}\n"))
	if err != nil || c.Strategy.Method != v1alpha1.MethodRestart {
		t.Errorf("method Restart gives %+v, %v", c, err)
	}
	c, err = coordinator.ParseConfig(nil)
	if err != nil || c.Source.URL != coordinator.DefaultSource || c.Source.Interval.Duration != 10*time.Minute {
		t.Errorf("an empty file gives %+v, %v", c, err)
	}
	for text, want := range map[string]string{
		"sorce: {}":                          "sorce",
		"source: {intervall: 1m}":            "intervall",
		"strategy: {groops: []}":             "groops",
		"source: {interval: 10}":             "interval",
		"source: {interval: 1ms}":            "shorter than 1s",
		"source: {keyring: /etc/x}":          "keyring is not supported",
		"strategy: {method: Reload}":         "neither Reboot nor Restart",
		"source: {url: a}\nsource: {url: b}": "source",
	} {
		_, err := coordinator.ParseConfig([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: got %v, want one line with %q", text, err, want)
		}
	}
}
